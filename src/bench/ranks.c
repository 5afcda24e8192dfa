/* SPDX-License-Identifier: MIT
 *
 * A star around rank 0. Every message is a head and `length` bytes:
 *
 *     rank r -> 0   HELLO (nonce)                 once
 *     0 -> all      DATA (nothing)                when all have come
 *     rank r -> 0   DATA (what it gives)          an exchange
 *     0 -> all      DATA (of all ranks)
 *     any time      FAIL (what went wrong)        the sender's last message
 *     rank r -> 0   BLOCKED (what it does)        its calls do not end; then only a FAIL can follow
 *     0 -> all      ASK (nothing)                 who is there?
 *     rank r -> 0   HERE (what it does)           the answer, while it waits for its device or is
 *                                                 in a call; an exchange is an answer, too
 *
 * Numbers are those of the machine: all ranks run the same build.
 */
#include "bench/ranks.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/now.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HELLO = 0x53504252, DATA, FAIL, BLOCKED, ASK, HERE };

#define STRANGER_S 2  /* a connection that says nothing for so long is closed */
#define GRACE_S 5     /* to answer when rank 0 asks who is there, at most the timeout */
#define NEWS_S 0.5    /* for the news of another rank's end to come */
#define NAMED_RANKS 8 /* that did not come, in a message */

struct message_head {
    uint32_t kind, rank;
    uint64_t length;
};

struct hello {
    uint64_t nonce[2];
    uint32_t rank, world;
};

/* A rank's work outside of an exchange. Between two exchanges all ranks that work make the same
 * calls, so that the one with the lowest number is behind. */
struct doing {
    uint64_t calls; /* begun since the last exchange */
    char call[40];  /* that it is in; "": none */
};

struct bench_ranks {
    int rank, world;
    double timeout_s;
    int *fds;    /* owned; rank 0: of each rank, others: [0] of rank 0. -1: not come, or ended */
    bool *heard; /* owned; on rank 0: that have come, gave their part of an exchange, or are BLOCKED
                  */
    struct doing mine;
    struct doing *doing; /* owned; on rank 0: of each rank, as it said last */
    bool blocked;        /* on rank 0: some rank's calls do not end */
    bool silent;         /* rank 0 is there to say what went wrong */
    bool failed;         /* the job is over; why says what happened */
    char why[512];
};

static double grace_s(const struct bench_ranks *r)
{
    return r->timeout_s < GRACE_S ? r->timeout_s : GRACE_S;
}

/* Time that another rank than 0 waits for rank 0, which itself waits for the others. */
static double patience_s(const struct bench_ranks *r)
{
    return 2 * (r->timeout_s + grace_s(r));
}

static int send_message(const struct bench_ranks *r, int fd, uint32_t kind, uint32_t rank,
                        const void *bytes, size_t size)
{
    struct message_head head = {kind, rank, size};
    double until_s = now_s() + r->timeout_s;
    if (fd < 0 || bench_socket_transfer(fd, &head, sizeof head, true, until_s) < 0)
        return -1;
    return bench_socket_transfer(fd, (void *)(uintptr_t)bytes, size, true, until_s);
}

/* ---- the end of a job ---- */

/* Rank 0 tells all others; a rank tells rank 0. */
static void spread_failure(const struct bench_ranks *r, uint32_t of)
{
    int first = r->rank == 0 ? 1 : 0, last = r->rank == 0 ? r->world : 1;
    for (int i = first; i < last; i++)
        (void)send_message(r, r->fds[i], FAIL, of, r->why, strlen(r->why));
}

/* `of`: the rank that has failed. Returns -1 with e filled, as every exchange does from now on. */
static int end_job(struct bench_ranks *r, uint32_t of, struct err *e)
{
    if (!r->failed && r->rank == 0)
        spread_failure(r, of);
    r->failed = true;
    return err_set(e, ERR_INPUT, "%s", r->why);
}

static int peer_lost(struct bench_ranks *r, int rank, struct err *e)
{
    bool late = errno == ETIMEDOUT;
    snprintf(r->why, sizeof r->why,
             late ? "rank %d did not answer within %g s" : "rank %d ended before the benchmark did",
             rank, r->timeout_s);
    if (late && r->rank == 0) /* for when it goes on: else it would say that rank 0 has ended */
        (void)send_message(r, r->fds[rank], FAIL, (uint32_t)rank, r->why, strlen(r->why));
    close(r->fds[rank]);
    r->fds[rank] = -1;
    r->silent &= r->rank != 1; /* without rank 0, rank 1 says it */
    return end_job(r, (uint32_t)rank, e);
}

/* Reads the text after a FAIL's head. */
static int peer_failed(struct bench_ranks *r, int fd, const struct message_head *head,
                       struct err *e)
{
    char text[sizeof r->why - 32] = "";
    size_t size = head->length < sizeof text - 1 ? head->length : sizeof text - 1;
    (void)bench_socket_transfer(fd, text, size, false, now_s() + STRANGER_S);
    if (r->rank == 0)
        snprintf(r->why, sizeof r->why, "rank %u: %s", head->rank, text);
    else
        snprintf(r->why, sizeof r->why, "%s", text);
    r->silent = r->rank != 0;
    return end_job(r, head->rank, e);
}

/* ---- who is there ---- */

/* "ranks 1, 2 did not come within 60 s", of those that are not in `did`; 0: none. */
static int name_others(struct bench_ranks *r, const bool *did, const char *what, struct err *e)
{
    struct buf names = BUF_INIT;
    int others = 0;
    for (int i = 0; i < r->world; i++) {
        if (!did[i] && others++ < NAMED_RANKS)
            buf_printf(&names, "%s%d", others == 1 ? "" : ", ", i);
    }
    if (others > NAMED_RANKS)
        buf_printf(&names, " and %d more", others - NAMED_RANKS);
    if (others > 0)
        snprintf(r->why, sizeof r->why, "rank%s %s did not %s within %g s", others > 1 ? "s" : "",
                 names.data, what, r->timeout_s);
    buf_release(&names);
    return others > 0 ? end_job(r, 0, e) : 0;
}

/* The text after a HERE or BLOCKED of rank `from`; others are cut off by a later error. */
static void note_doing(struct bench_ranks *r, int from, const struct message_head *head)
{
    struct doing *d = &r->doing[from];
    if (head->length != sizeof *d ||
        bench_socket_transfer(r->fds[from], d, sizeof *d, false, now_s() + STRANGER_S) < 0)
        *d = (struct doing){0};
    d->call[sizeof d->call - 1] = '\0';
}

static int send_doing(struct bench_ranks *r, uint32_t kind)
{
    return send_message(r, r->fds[0], kind, (uint32_t)r->rank, &r->mine, sizeof r->mine);
}

/* Takes what a rank says outside of an exchange, if anything. 0, or -1 with e filled: the job is
 * over. *there is set where it waits for its device, or is at an exchange. */
static int listen_to(struct bench_ranks *r, int from, bool *there, struct err *e)
{
    struct message_head head;
    ssize_t n;
    while ((n = recv(r->fds[from], &head, sizeof head, MSG_PEEK | MSG_DONTWAIT)) ==
           (ssize_t)sizeof head) {
        *there |= head.kind != FAIL;
        if (head.kind == DATA) {
            r->doing[from] = (struct doing){0};
            return 0;
        }
        recv(r->fds[from], &head, sizeof head, MSG_DONTWAIT);
        if (head.kind == FAIL)
            return peer_failed(r, r->fds[from], &head, e);
        if (head.kind == BLOCKED || head.kind == HERE)
            note_doing(r, from, &head);
        if (head.kind == BLOCKED)
            r->blocked = r->heard[from] = true;
        if (head.kind == ASK) /* where rank 0 has ended, a FAIL may be behind it */
            (void)send_doing(r, HERE);
    }
    errno = n == 0 ? ECONNRESET : errno;
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ? peer_lost(r, from, e) : 0;
}

/* On rank 0. 0: all are there; -1 with e filled, which names those that are not. */
static int ask_all(struct bench_ranks *r, struct err *e)
{
    const struct timespec pause = {0, 20 * 1000000};
    double until_s = now_s() + grace_s(r);
    bool *there = array_new((size_t)r->world, sizeof *there);
    int missing = 1, status = 0;
    there[0] = true;
    for (int i = 1; i < r->world; i++) {
        there[i] = r->heard[i];
        (void)send_message(r, r->fds[i], ASK, 0, NULL, 0);
    }
    while (missing > 0 && status == 0 && now_s() < until_s) {
        missing = 0;
        for (int i = 1; i < r->world && status == 0; i++) {
            if (!there[i])
                status = listen_to(r, i, &there[i], e);
            missing += !there[i];
        }
        if (missing > 0)
            nanosleep(&pause, NULL);
    }
    if (status == 0)
        status = name_others(r, there, "answer", e);
    free(there);
    return status;
}

/* On rank 0: names those that are in a call which others have behind them. 0: none. */
static int name_behind(struct bench_ranks *r, struct err *e)
{
    bool *ahead = array_new((size_t)r->world, sizeof *ahead);
    char what[64];
    int first = -1, status = 0;
    bool differ = false;
    r->doing[0] = r->mine;
    for (int i = 0; i < r->world; i++) {
        if (r->doing[i].call[0] != '\0' && (first < 0 || r->doing[i].calls < r->doing[first].calls))
            first = i;
    }
    for (int i = 0; i < r->world && first >= 0; i++) {
        ahead[i] = r->doing[i].call[0] == '\0' || r->doing[i].calls > r->doing[first].calls;
        differ |= ahead[i];
    }
    if (first >= 0)
        snprintf(what, sizeof what, "return from %s", r->doing[first].call);
    if (differ)
        status = name_others(r, ahead, what, e);
    else if (first >= 0)
        snprintf(r->why, sizeof r->why, "%s did not return within %g s, though all ranks are in it",
                 r->doing[first].call, r->timeout_s);
    free(ahead);
    return first >= 0 && status == 0 ? end_job(r, 0, e) : status;
}

/* On rank 0: some rank's calls do not end. */
static int find_hanging(struct bench_ranks *r, struct err *e)
{
    if (ask_all(r, e) < 0 || name_behind(r, e) < 0)
        return -1;
    snprintf(r->why, sizeof r->why, "calls did not end within %g s, though all ranks answer",
             r->timeout_s);
    return end_job(r, 0, e);
}

/* ---- exchanges ---- */

/* One message of DATA with `size` bytes from a peer. */
static int receive(struct bench_ranks *r, int from, void *bytes, size_t size, double until_s,
                   struct err *e)
{
    struct message_head head = {.kind = ASK};
    int fd = r->fds[from];
    while (head.kind == ASK || head.kind == HERE) {
        if (bench_socket_transfer(fd, &head, sizeof head, false, until_s) < 0)
            return peer_lost(r, from, e);
        if (head.kind == ASK) /* rank 0 waits for another one */
            until_s = now_s() + patience_s(r);
        if (head.kind == HERE || head.kind == BLOCKED)
            note_doing(r, from, &head);
    }
    if (head.kind == FAIL)
        return peer_failed(r, fd, &head, e);
    if (head.kind == BLOCKED) {
        r->heard[from] = true;
        return find_hanging(r, e);
    }
    if (head.kind != DATA || head.length != size) {
        snprintf(r->why, sizeof r->why,
                 "rank %d is at another exchange than rank %d: do all run "
                 "the same command?",
                 from, r->rank);
        return end_job(r, (uint32_t)from, e);
    }
    r->doing[from] = (struct doing){0}; /* what it said before it came here */
    if (bench_socket_transfer(fd, bytes, size, false, until_s) < 0)
        return peer_lost(r, from, e);
    return 0;
}

/* Waits for the ranks in the order in which they answer, so that one that ends is seen at once
 * while another is still at work. */
static int receive_all(struct bench_ranks *r, size_t size, char *all, struct err *e)
{
    double until_s = now_s() + r->timeout_s;
    struct pollfd *polls = array_new((size_t)r->world, sizeof *polls);
    int missing = r->world - 1, status = 0;
    for (int i = 0; i < r->world; i++)
        polls[i] = (struct pollfd){i == 0 ? -1 : r->fds[i], POLLIN, 0};
    while (missing > 0 && status == 0) {
        int ready = poll(polls, (nfds_t)r->world, bench_socket_left_ms(until_s));
        if (ready == 0) { /* a rank whose device is at work for longer may go on */
            status = ask_all(r, e) < 0 ? -1 : r->blocked ? find_hanging(r, e) : 0;
            until_s = now_s() + r->timeout_s;
        }
        for (int i = 1; i < r->world && status == 0; i++) {
            if (polls[i].fd < 0 || ready <= 0 || polls[i].revents == 0)
                continue;
            status = receive(r, i, all + (size_t)i * size, size, until_s, e);
            polls[i].fd = -1;
            r->heard[i] = true;
            missing--;
        }
    }
    memset(r->heard, 0, (size_t)r->world * sizeof *r->heard);
    free(polls);
    return status;
}

static int send_all(struct bench_ranks *r, const char *all, size_t size, struct err *e)
{
    for (int i = 1; i < r->world; i++) {
        if (send_message(r, r->fds[i], DATA, 0, all, size) < 0)
            return peer_lost(r, i, e);
    }
    return 0;
}

int bench_ranks_gather(struct bench_ranks *r, const void *mine, size_t size, void *all,
                       struct err *e)
{
    size_t whole = size * (size_t)r->world;
    r->mine = (struct doing){0};
    memcpy((char *)all + (size_t)r->rank * size, mine, size);
    if (r->failed)
        return err_set(e, ERR_INPUT, "%s", r->why);
    if (r->rank == 0)
        return receive_all(r, size, all, e) < 0 ? -1 : send_all(r, all, whole, e);
    if (send_message(r, r->fds[0], DATA, (uint32_t)r->rank, mine, size) < 0)
        return bench_ranks_check(r, e) < 0 ? -1 : peer_lost(r, 0, e);
    return receive(r, 0, all, whole, now_s() + patience_s(r), e);
}

int bench_ranks_from_first(struct bench_ranks *r, void *bytes, size_t size, struct err *e)
{
    char *all = array_new((size_t)r->world, size);
    int status = bench_ranks_gather(r, bytes, size, all, e);
    if (status == 0)
        memcpy(bytes, all, size);
    free(all);
    return status;
}

int bench_ranks_max(struct bench_ranks *r, double *values, size_t count, struct err *e)
{
    double *all = array_new((size_t)r->world, count * sizeof *values);
    int status = bench_ranks_gather(r, values, count * sizeof *values, all, e);
    for (size_t i = 0; status == 0 && i < (size_t)r->world * count; i++) {
        if (all[i] > values[i % count])
            values[i % count] = all[i];
    }
    free(all);
    return status;
}

int bench_ranks_agree(struct bench_ranks *r, int status, struct err *e)
{
    struct says {
        int status;
        char text[400];
    } mine = {.status = status}, *all = array_new((size_t)r->world, sizeof mine);
    int first = -1, result;
    if (status < 0)
        snprintf(mine.text, sizeof mine.text, "%.399s", e->msg);
    result = bench_ranks_gather(r, &mine, sizeof mine, all, e);
    for (int i = 0; result == 0 && i < r->world && first < 0; i++)
        first = all[i].status < 0 ? i : -1;
    if (first >= 0 && r->world > 1)
        result = err_set(e, ERR_INPUT, "rank %d: %s", first, all[first].text);
    free(all);
    return first >= 0 ? -1 : result;
}

int bench_ranks_agree_or_fail(struct bench_ranks *r, int status, struct err *e)
{
    if (status < 0 && r->world > 1)
        bench_ranks_fail(r, e);
    return bench_ranks_agree(r, status, e);
}

int bench_ranks_check(struct bench_ranks *r, struct err *e)
{
    int first = r->rank == 0 ? 1 : 0, last = r->rank == 0 ? r->world : r->world > 1;
    if (r->failed)
        return err_set(e, ERR_INPUT, "%s", r->why);
    for (int i = first; i < last; i++) {
        bool there = false;
        if (listen_to(r, i, &there, e) < 0)
            return -1;
    }
    return r->blocked ? find_hanging(r, e) : 0;
}

int bench_ranks_blocked(struct bench_ranks *r, struct err *e)
{
    if (r->failed)
        return err_set(e, ERR_INPUT, "%s", r->why);
    if (r->rank == 0)
        return find_hanging(r, e);
    if (send_doing(r, BLOCKED) < 0)
        return bench_ranks_check(r, e) < 0 ? -1 : peer_lost(r, 0, e);
    return receive(r, 0, NULL, 0, now_s() + patience_s(r), e);
}

void bench_ranks_in_call(struct bench_ranks *r, const char *call)
{
    r->mine.calls += call != NULL;
    snprintf(r->mine.call, sizeof r->mine.call, "%s", call != NULL ? call : "");
}

bool bench_ranks_silent(const struct bench_ranks *r)
{
    return r != NULL && r->silent;
}

/* ---- a failure of this rank ---- */

void bench_ranks_fail(struct bench_ranks *r, const struct err *e)
{
    const struct timespec pause = {0, 20 * 1000000};
    double until_s = now_s() + NEWS_S;
    struct err unused = {0};
    if (r == NULL || r->failed)
        return;
    /* A call fails, too, because another rank has ended, of which the news may come a moment later.
     */
    while (bench_ranks_check(r, &unused) == 0 && now_s() < until_s)
        nanosleep(&pause, NULL);
    if (r->failed)
        return;
    snprintf(r->why, sizeof r->why, r->rank == 0 ? "rank 0: %.400s" : "%.400s", e->msg);
    spread_failure(r, (uint32_t)r->rank);
    r->failed = true;
}

bool bench_ranks_failed(const struct bench_ranks *r)
{
    return r->failed;
}

int bench_ranks_address(const struct bench_ranks *r, char *address, size_t size, struct err *e)
{
    if (r->world > 1)
        return bench_socket_address(r->fds[r->rank == 0 ? 1 : 0], address, size, e);
    snprintf(address, size, "127.0.0.1");
    return 0;
}

/* ---- coming together ---- */

/* A connection's first message; what is not of this job is closed. Returns whether a rank came. */
static bool admit(struct bench_ranks *r, const struct bench_place *p, int fd)
{
    struct message_head head;
    struct hello hello;
    double until_s = now_s() + STRANGER_S;
    if (bench_socket_transfer(fd, &head, sizeof head, false, until_s) < 0 ||
        head.length != sizeof hello ||
        bench_socket_transfer(fd, &hello, sizeof hello, false, until_s) < 0 || head.kind != HELLO ||
        memcmp(hello.nonce, p->nonce, sizeof hello.nonce) != 0 ||
        hello.world != (uint32_t)r->world || hello.rank == 0 || hello.rank >= (uint32_t)r->world ||
        r->fds[hello.rank] >= 0) {
        close(fd);
        return false;
    }
    bench_socket_set_options(fd);
    r->fds[hello.rank] = fd;
    r->heard[hello.rank] = true;
    return true;
}

static int wait_for_all(struct bench_ranks *r, const struct bench_place *p, struct err *e)
{
    double until_s = now_s() + r->timeout_s;
    int listener = bench_socket_listen(p, e), missing = r->world - 1, status = 0;
    if (listener < 0)
        return -1;
    r->heard[0] = true;
    while (missing > 0 && status == 0) {
        struct pollfd poll_one = {listener, POLLIN, 0};
        int fd;
        if (poll(&poll_one, 1, bench_socket_left_ms(until_s)) == 0) {
            status = name_others(r, r->heard, "come", e);
            break;
        }
        fd = accept(listener, NULL, NULL);
        missing -= fd >= 0 && admit(r, p, fd);
    }
    close(listener);
    memset(r->heard, 0, (size_t)r->world * sizeof *r->heard);
    return status < 0 ? -1 : send_all(r, "", 0, e);
}

int bench_ranks_join(const struct bench_place *place, double timeout_s, struct bench_ranks **ranks,
                     struct err *e)
{
    struct bench_ranks *r = *ranks = array_new(1, sizeof *r);
    const size_t world = (size_t)place->world;
    const struct hello hello = {
        {place->nonce[0], place->nonce[1]}, (uint32_t)place->rank, (uint32_t)place->world};
    r->fds = array_new(world, sizeof *r->fds);
    r->heard = array_new(world, sizeof *r->heard);
    r->doing = array_new(world, sizeof *r->doing);
    r->rank = place->rank;
    r->world = place->world;
    r->timeout_s = timeout_s;
    for (int i = 0; i < r->world; i++)
        r->fds[i] = -1;
    if (r->world == 1)
        return 0;
    if (r->rank == 0)
        return wait_for_all(r, place, e);
    r->fds[0] = bench_socket_connect(place, timeout_s, e);
    if (r->fds[0] < 0)
        return -1;
    if (send_message(r, r->fds[0], HELLO, (uint32_t)r->rank, &hello, sizeof hello) < 0)
        return peer_lost(r, 0, e);
    if (receive(r, 0, NULL, 0, now_s() + patience_s(r), e) < 0)
        return -1;
    r->silent = true;
    return 0;
}

void bench_ranks_leave(struct bench_ranks *r)
{
    if (r == NULL)
        return;
    for (int i = 0; i < r->world; i++) {
        if (r->fds[i] >= 0)
            close(r->fds[i]);
    }
    free(r->doing);
    free(r->heard);
    free(r->fds);
    free(r);
}

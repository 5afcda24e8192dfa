/* SPDX-License-Identifier: MIT
 *
 * A star around rank 0. Every message is a head and `length` bytes:
 *
 *     rank r -> 0   HELLO (nonce)                 once
 *     0 -> all      DATA (nothing)                when all have come
 *     rank r -> 0   DATA (what it gives)          an exchange
 *     0 -> all      DATA (of all ranks)
 *     any time      FAIL (what went wrong)        the sender's last message
 *
 * Numbers are those of the machine: all ranks run the same build.
 */
#include "bench/ranks.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HELLO = 0x53504252, DATA, FAIL };

#define RETRY_MS 100  /* between attempts to reach rank 0, which may start later */
#define STRANGER_S 2  /* a connection that says nothing for so long is closed */
#define NAMED_RANKS 8 /* that did not come, in a message */

struct head {
    uint32_t kind, rank;
    uint64_t length;
};

struct hello {
    uint64_t nonce[2];
    uint32_t rank, world;
};

struct bench_ranks {
    int rank, world;
    double timeout_s;
    int *fds;    /* owned; rank 0: of each rank, others: [0] of rank 0. -1: not come, or ended */
    bool failed; /* the job is over; why says what happened */
    char why[512];
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int left_ms(double until_s)
{
    double left = until_s - now_s();
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
}

/* ---- bytes ---- */

/* All of it before the deadline. 0, or -1: closed, refused, or too late (errno is ETIMEDOUT). */
static int transfer(int fd, void *bytes, size_t size, bool sending, double until_s)
{
    char *at = bytes;
    while (size > 0) {
        struct pollfd p = {fd, sending ? POLLOUT : POLLIN, 0};
        ssize_t n;
        if (poll(&p, 1, left_ms(until_s)) == 0)
            return errno = ETIMEDOUT, -1;
        n = sending ? send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                    : recv(fd, at, size, MSG_DONTWAIT);
        if (n == 0 && !sending)
            return errno = ECONNRESET, -1;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

static int send_message(const struct bench_ranks *r, int fd, uint32_t kind, uint32_t rank,
                        const void *bytes, size_t size)
{
    struct head head = {kind, rank, size};
    double until_s = now_s() + r->timeout_s;
    if (fd < 0 || transfer(fd, &head, sizeof head, true, until_s) < 0)
        return -1;
    return transfer(fd, (void *)(uintptr_t)bytes, size, true, until_s);
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
    close(r->fds[rank]);
    r->fds[rank] = -1;
    return end_job(r, (uint32_t)rank, e);
}

/* Reads the text behind a FAIL's head. */
static int peer_failed(struct bench_ranks *r, int fd, const struct head *head, struct err *e)
{
    char text[sizeof r->why - 32] = "";
    size_t size = head->length < sizeof text - 1 ? head->length : sizeof text - 1;
    (void)transfer(fd, text, size, false, now_s() + STRANGER_S);
    if (r->rank == 0)
        snprintf(r->why, sizeof r->why, "rank %u: %s", head->rank, text);
    else
        snprintf(r->why, sizeof r->why, "%s", text);
    return end_job(r, head->rank, e);
}

void bench_ranks_fail(struct bench_ranks *r, const struct err *e)
{
    if (r == NULL || r->failed)
        return;
    snprintf(r->why, sizeof r->why, r->rank == 0 ? "rank 0: %.400s" : "%.400s", e->msg);
    spread_failure(r, (uint32_t)r->rank);
    r->failed = true;
}

/* ---- exchanges ---- */

/* One message of DATA with `size` bytes from a peer. */
static int receive(struct bench_ranks *r, int from, void *bytes, size_t size, double until_s,
                   struct err *e)
{
    struct head head;
    int fd = r->fds[from];
    if (transfer(fd, &head, sizeof head, false, until_s) < 0)
        return peer_lost(r, from, e);
    if (head.kind == FAIL)
        return peer_failed(r, fd, &head, e);
    if (head.kind != DATA || head.length != size) {
        snprintf(r->why, sizeof r->why,
                 "rank %d is at another exchange than rank %d: do all run "
                 "the same command?",
                 from, r->rank);
        return end_job(r, (uint32_t)from, e);
    }
    if (transfer(fd, bytes, size, false, until_s) < 0)
        return peer_lost(r, from, e);
    return 0;
}

/* Waits for the ranks in the order in which they answer, so that one that ends is seen at once
 * while another is still at work. */
static int receive_all(struct bench_ranks *r, size_t size, char *all, struct err *e)
{
    double until_s = now_s() + r->timeout_s;
    struct pollfd *polls = calloc((size_t)r->world, sizeof *polls);
    int missing = r->world - 1, status = 0;
    if (polls == NULL)
        die("out of memory");
    for (int i = 0; i < r->world; i++)
        polls[i] = (struct pollfd){i == 0 ? -1 : r->fds[i], POLLIN, 0};
    while (missing > 0 && status == 0) {
        int ready = poll(polls, (nfds_t)r->world, left_ms(until_s));
        for (int i = 1; i < r->world && status == 0; i++) {
            if (polls[i].fd < 0 || (ready > 0 && polls[i].revents == 0))
                continue;
            errno = ETIMEDOUT;
            status = ready == 0 ? peer_lost(r, i, e)
                                : receive(r, i, all + (size_t)i * size, size, until_s, e);
            polls[i].fd = -1;
            missing--;
        }
    }
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
    memcpy((char *)all + (size_t)r->rank * size, mine, size);
    if (r->failed)
        return err_set(e, ERR_INPUT, "%s", r->why);
    if (r->rank == 0)
        return receive_all(r, size, all, e) < 0 ? -1 : send_all(r, all, whole, e);
    if (send_message(r, r->fds[0], DATA, (uint32_t)r->rank, mine, size) < 0)
        return bench_ranks_check(r, e) < 0 ? -1 : peer_lost(r, 0, e);
    return receive(r, 0, all, whole, now_s() + 2 * r->timeout_s, e);
}

/* Room for what all ranks give. */
static void *room(const struct bench_ranks *r, size_t size)
{
    void *all = malloc((size_t)r->world * size);
    if (all == NULL)
        die("out of memory");
    return all;
}

int bench_ranks_from_first(struct bench_ranks *r, void *bytes, size_t size, struct err *e)
{
    char *all = room(r, size);
    int status = bench_ranks_gather(r, bytes, size, all, e);
    if (status == 0)
        memcpy(bytes, all, size);
    free(all);
    return status;
}

int bench_ranks_max(struct bench_ranks *r, double *values, size_t count, struct err *e)
{
    double *all = room(r, count * sizeof *values);
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
    } mine = {.status = status}, *all = room(r, sizeof mine);
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

int bench_ranks_check(struct bench_ranks *r, struct err *e)
{
    int first = r->rank == 0 ? 1 : 0, last = r->rank == 0 ? r->world : r->world > 1;
    if (r->failed)
        return err_set(e, ERR_INPUT, "%s", r->why);
    for (int i = first; i < last; i++) {
        struct head head;
        ssize_t n = recv(r->fds[i], &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
        errno = n == 0 ? ECONNRESET : errno;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return peer_lost(r, i, e);
        if (n == (ssize_t)sizeof head && head.kind == FAIL &&
            recv(r->fds[i], &head, sizeof head, MSG_DONTWAIT) == (ssize_t)sizeof head)
            return peer_failed(r, r->fds[i], &head, e);
    }
    return 0;
}

bool bench_ranks_failed(const struct bench_ranks *r)
{
    return r->failed;
}

int bench_ranks_address(const struct bench_ranks *r, char *address, size_t size, struct err *e)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    int error;
    if (r->world == 1) {
        snprintf(address, size, "127.0.0.1");
        return 0;
    }
    if (getsockname(r->fds[r->rank == 0 ? 1 : 0], (struct sockaddr *)&at, &length) != 0)
        return err_set(e, ERR_INPUT, "this machine's address: %s", strerror(errno));
    error = getnameinfo((struct sockaddr *)&at, length, address, (socklen_t)size, NULL, 0,
                        NI_NUMERICHOST);
    return error == 0 ? 0
                      : err_set(e, ERR_INPUT, "this machine's address: %s", gai_strerror(error));
}

/* ---- coming together ---- */

static struct addrinfo *look_up(const struct bench_place *p, struct err *e)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char port[16];
    int error;
    snprintf(port, sizeof port, "%d", p->port);
    error = getaddrinfo(p->master, port, &hints, &list);
    if (error != 0)
        err_set(e, ERR_INPUT, "the machine of rank 0, '%s': %s (MASTER_ADDR names it)", p->master,
                gai_strerror(error));
    return error == 0 ? list : NULL;
}

static void set_options(int fd)
{
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* On the machine's address of that name alone. A launcher of ours has opened the socket already. */
static int open_listener(const struct bench_place *p, struct err *e)
{
    const char *given = getenv(BENCH_ENV_LISTEN);
    struct addrinfo *list;
    int fd, yes = 1;
    if (given != NULL)
        return (int)strtol(given, NULL, 10);
    list = look_up(p, e);
    if (list == NULL)
        return -1;
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) != 0 || listen(fd, p->world) != 0) {
        err_set(e, ERR_INPUT, "cannot listen on %s port %d: %s (--port N takes another)", p->master,
                p->port, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

static bool is_ours(const struct bench_ranks *r, const struct bench_place *p,
                    const struct head *head, const struct hello *hello)
{
    return head->kind == HELLO && head->length == sizeof *hello &&
           memcmp(hello->nonce, p->nonce, sizeof hello->nonce) == 0 &&
           hello->world == (uint32_t)r->world && hello->rank > 0 &&
           hello->rank < (uint32_t)r->world && r->fds[hello->rank] < 0;
}

/* A connection's first message; what is not of this job is closed. Returns whether a rank came. */
static bool admit(struct bench_ranks *r, const struct bench_place *p, int fd)
{
    struct head head;
    struct hello hello;
    double until_s = now_s() + STRANGER_S;
    if (transfer(fd, &head, sizeof head, false, until_s) < 0 || head.length != sizeof hello ||
        transfer(fd, &hello, sizeof hello, false, until_s) < 0 || !is_ours(r, p, &head, &hello)) {
        close(fd);
        return false;
    }
    set_options(fd);
    r->fds[hello.rank] = fd;
    return true;
}

static int not_all_came(const struct bench_ranks *r, struct err *e)
{
    struct buf names = BUF_INIT;
    int missing = 0;
    for (int i = 1; i < r->world; i++) {
        if (r->fds[i] >= 0)
            continue;
        if (missing++ < NAMED_RANKS)
            buf_printf(&names, "%s%d", missing == 1 ? "" : ", ", i);
    }
    if (missing > NAMED_RANKS)
        buf_printf(&names, " and %d more", missing - NAMED_RANKS);
    err_set(e, ERR_INPUT, "rank%s %s did not come within %g s", missing > 1 ? "s" : "", names.data,
            r->timeout_s);
    buf_release(&names);
    return -1;
}

static int wait_for_all(struct bench_ranks *r, const struct bench_place *p, struct err *e)
{
    double until_s = now_s() + r->timeout_s;
    int listener = open_listener(p, e), missing = r->world - 1, status = 0;
    if (listener < 0)
        return -1;
    while (missing > 0 && status == 0) {
        struct pollfd poll_one = {listener, POLLIN, 0};
        int fd;
        if (poll(&poll_one, 1, left_ms(until_s)) == 0) {
            status = not_all_came(r, e);
            break;
        }
        fd = accept(listener, NULL, NULL);
        missing -= fd >= 0 && admit(r, p, fd);
    }
    close(listener);
    return status < 0 ? -1 : send_all(r, "", 0, e);
}

/* Again and again: rank 0 may start later, or its machine's name not be known yet. */
static int connect_first(struct bench_ranks *r, const struct bench_place *p, struct err *e)
{
    const struct timespec pause = {0, RETRY_MS * 1000000};
    double until_s = now_s() + r->timeout_s;
    struct addrinfo *list = look_up(p, e);
    int fd = -1, error = 0;
    if (list == NULL)
        return -1;
    while (fd < 0 && now_s() < until_s) {
        for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
            fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
                break;
            error = errno;
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
        if (fd < 0)
            nanosleep(&pause, NULL);
    }
    freeaddrinfo(list);
    if (fd < 0)
        return err_set(e, ERR_INPUT, "rank 0 at %s port %d was not reached within %g s: %s",
                       p->master, p->port, r->timeout_s, strerror(error));
    set_options(fd);
    r->fds[0] = fd;
    return 0;
}

static int join_first(struct bench_ranks *r, const struct bench_place *p, struct err *e)
{
    struct hello hello = {{p->nonce[0], p->nonce[1]}, (uint32_t)r->rank, (uint32_t)r->world};
    if (connect_first(r, p, e) < 0)
        return -1;
    if (send_message(r, r->fds[0], HELLO, (uint32_t)r->rank, &hello, sizeof hello) < 0)
        return peer_lost(r, 0, e);
    return receive(r, 0, NULL, 0, now_s() + 2 * r->timeout_s, e);
}

struct bench_ranks *bench_ranks_join(const struct bench_place *place, double timeout_s,
                                     struct err *e)
{
    struct bench_ranks *r = calloc(1, sizeof *r);
    int status = 0;
    if (r == NULL || (r->fds = calloc((size_t)place->world, sizeof *r->fds)) == NULL)
        die("out of memory");
    r->rank = place->rank;
    r->world = place->world;
    r->timeout_s = timeout_s;
    for (int i = 0; i < r->world; i++)
        r->fds[i] = -1;
    if (r->world > 1)
        status = r->rank == 0 ? wait_for_all(r, place, e) : join_first(r, place, e);
    if (status == 0)
        return r;
    bench_ranks_leave(r);
    return NULL;
}

void bench_ranks_leave(struct bench_ranks *r)
{
    if (r == NULL)
        return;
    for (int i = 0; i < r->world; i++) {
        if (r->fds[i] >= 0)
            close(r->fds[i]);
    }
    free(r->fds);
    free(r);
}

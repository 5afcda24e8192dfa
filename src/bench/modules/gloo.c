/* SPDX-License-Identifier: MIT
 *
 * gloo over TCP. Its ranks find each other by an exchange of ours; addresses are those by which
 * this job's ranks reach each other already.
 */
#include "bench/modules/gloo_library.h"
#include "bench/modules/host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 10 /* timeouts until gloo itself gives up, which names no rank */

/* ---- opening ---- */

/* gloo writes to sockets whose other end may be gone. */
static void ignore_pipe(bool ignore)
{
    static struct sigaction before;
    const struct sigaction none = {.sa_handler = SIG_IGN};
    if (ignore)
        sigaction(SIGPIPE, &none, &before);
    else
        sigaction(SIGPIPE, &before, NULL);
}

static void close_comm(struct bench_comm *c)
{
    if (c == NULL)
        return;
    gloo_close(c->handle);
    ignore_pipe(false);
    bench_host_free(c);
}

/* The data that each rank sends to the others: its place in the communicator, and where each is to
 * connect. */
struct gloo_card {
    int64_t member; /* -1: not in it */
    struct gloo_address own[];
};

static const struct gloo_card *card_of(const char *cards, size_t size, int member)
{
    const struct gloo_card *card = (const struct gloo_card *)(const void *)cards;
    while (card->member != member) {
        cards += size;
        card = (const struct gloo_card *)(const void *)cards;
    }
    return card;
}

static int listen_for_all(struct bench_comm *c, struct gloo_card *mine, struct err *e)
{
    const struct bench_members *m = &c->members;
    char address[BENCH_HOST_MAX], why[256];
    struct gloo_comm *gloo;
    mine->member = m->member;
    if (m->member < 0)
        return 0;
    if (bench_ranks_address(m->ranks, address, sizeof address, e) < 0)
        return -1;
    if (gloo_open(m->member, m->size, address, PATIENCE * m->timeout_s, &gloo, mine->own, why,
                  sizeof why) < 0)
        return err_set(e, ERR_INPUT, "gloo: %s", why);
    c->handle = gloo;
    return 0;
}

static int connect_all(struct bench_comm *c, const char *cards, size_t size, struct err *e)
{
    const struct bench_members *m = &c->members;
    char why[256];
    int status = 0;
    bench_calls_begin(c->members.calls, "a connection");
    for (int i = 0; m->member >= 0 && i < m->size && status == 0; i++) {
        if (i != m->member)
            status = gloo_connect(c->handle, i, &card_of(cards, size, i)->own[m->member], why,
                                  sizeof why);
    }
    bench_calls_end(c->members.calls);
    return status == 0 ? 0 : err_set(e, ERR_INPUT, "gloo: %s", why);
}

static int make_comm(struct bench_comm *c, struct err *e)
{
    const struct bench_members *m = &c->members;
    size_t size = sizeof(struct gloo_card) + (size_t)m->size * sizeof(struct gloo_address);
    struct gloo_card *mine = calloc(1, size);
    char *cards = calloc((size_t)m->world, size);
    int status = mine == NULL || cards == NULL ? err_set(e, ERR_INPUT, "out of memory")
                                               : listen_for_all(c, mine, e);
    status = bench_ranks_agree(m->ranks, status, e);
    if (status == 0)
        status = bench_ranks_gather(m->ranks, mine, size, cards, e);
    if (status == 0)
        status = bench_ranks_agree(m->ranks, connect_all(c, cards, size, e), e);
    free(cards);
    free(mine);
    return status;
}

static int open_comm(const struct bench_members *m, struct bench_comm **comm, struct err *e)
{
    struct bench_comm *c = bench_host_new(m, e);
    int status = bench_ranks_agree(m->ranks, c == NULL ? -1 : 0, e);
    *comm = NULL;
    if (c == NULL)
        return -1;
    ignore_pipe(true);
    snprintf(c->library, sizeof c->library, "%s", gloo_version());
    if (status == 0)
        status = make_comm(c, e);
    if (status < 0 || m->member < 0)
        close_comm(c);
    else
        *comm = c;
    return status;
}

/* ---- calls ---- */

static int supports(enum specter_comm_op op, enum specter_dtype type, enum specter_redop redop,
                    struct err *e)
{
    (void)op;
    if (!gloo_has_type(type))
        return err_set(e, ERR_USAGE, "gloo has no type %s", specter_dtype_name(type));
    if (redop > SPECTER_REDOP_MIN)
        return err_set(e, ERR_USAGE, "gloo has no such reduction");
    return 0;
}

static int call(struct bench_comm *c, const struct bench_call *k, struct err *e)
{
    const char *name = specter_comm_op_name(k->op);
    char why[256];
    int status;
    bench_calls_begin(c->members.calls, name);
    status = gloo_call(c->handle, k, why, sizeof why);
    bench_calls_end(c->members.calls);
    return status == 0 ? 0 : err_set(e, ERR_INPUT, "%s: gloo: %s", name, why);
}

static const struct bench_backend backend = {
    .name = "gloo",
    .open = open_comm,
    .close = close_comm,
    .supports = supports,
    .call = call,
    BENCH_HOST_BACKEND,
};

__attribute__((visibility("default"))) bench_module specter_bench_backend;

const struct bench_backend *specter_bench_backend(void)
{
    return &backend;
}

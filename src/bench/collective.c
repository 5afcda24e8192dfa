/* SPDX-License-Identifier: MIT */
#include "bench/collective.h"

#include "base/arena.h"
#include "base/buf.h"
#include "bench/gpu.h"
#include "bench/samples.h"
#include "bench/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)16 << 20)        /* of a buffer that is compared at once */
#define AHEAD_BYTES ((size_t)256 << 20) /* written on the device so that the host gets ahead */
#define AHEAD_TIMES 8
#define SPARE_BYTES ((size_t)512 << 20) /* of a device's memory that is left to the library */

/* Of one rank, while it measures. */
struct collective_bench {
    const struct bench_plan *plan;
    const struct bench_communicator *on;
    struct bench_values values; /* of the operation */
    enum specter_comm_op op;
    char *send, *receive; /* the backend's; of room bytes each */
    char *ahead;          /* of AHEAD_BYTES; NULL: the library does not enqueue */
    size_t room;
    char *expected, *got; /* owned; CHUNK each */
    double *us; /* owned; of iters + 1: each call, and the loop; then the GPU's C, 0: not known */
};

/* One operation at one size. */
struct size {
    uint64_t count, part; /* the call's argument; bytes of it */
    uint64_t whole;       /* bytes of the full buffer; 0: none, or more than 64 bits hold */
    int root;
    bool in_place;
};

static bool has_root(enum specter_comm_op op)
{
    return op == SPECTER_BROADCAST || op == SPECTER_REDUCE || op == SPECTER_GATHER ||
           op == SPECTER_SCATTER;
}

bool bench_op_in_place(enum specter_comm_op op)
{
    return op != SPECTER_ALLTOALL && op != SPECTER_SEND;
}

uint64_t bench_op_count(enum specter_comm_op op, enum specter_dtype dtype, uint64_t bytes,
                        int ranks)
{
    uint64_t one = specter_comm_op_bytes(op, 1, dtype, (uint64_t)ranks);
    return one > 0 ? bytes / one : 0;
}

/* ---- buffers ---- */

/* Number of parts of `count` elements in the buffers of a rank. */
static uint64_t parts_sent(const struct collective_bench *b)
{
    enum specter_comm_op op = b->op;
    return op == SPECTER_REDUCESCATTER || op == SPECTER_ALLTOALL || op == SPECTER_SCATTER
               ? (uint64_t)b->on->where.ranks
               : 1;
}

static uint64_t parts_received(const struct collective_bench *b)
{
    enum specter_comm_op op = b->op;
    return op == SPECTER_ALLGATHER || op == SPECTER_ALLTOALL || op == SPECTER_GATHER
               ? (uint64_t)b->on->where.ranks
               : 1;
}

/* Where data go out from and come to. In place, the smaller buffer is this rank's part of the
 * larger one. */
static void place_buffers(const struct collective_bench *b, const struct size *s,
                          struct bench_call *call)
{
    size_t own = b->on->comm != NULL ? (size_t)b->on->member * s->part : 0;
    *call = (struct bench_call){.op = b->op,
                                .dtype = b->plan->dtype,
                                .redop = b->plan->redop,
                                .root = s->root,
                                .count = s->count,
                                .send = b->send,
                                .receive = b->receive};
    if (!s->in_place || b->on->comm == NULL)
        return;
    call->send = b->receive + (parts_received(b) > 1 ? own : 0);
    call->receive = b->receive + (parts_sent(b) > 1 ? own : 0);
}

/* Fills a buffer with what this rank sends. */
static int fill(struct collective_bench *b, const struct size *s, char *buffer, struct err *e)
{
    const struct bench_communicator *on = b->on;
    uint64_t elements = parts_sent(b) * s->count;
    size_t step = CHUNK / b->values.size;
    for (uint64_t first = 0; first < elements; first += step) {
        size_t n = elements - first < step ? (size_t)(elements - first) : step;
        bench_values_fill(&b->values, on->member, first, n, b->expected);
        if (on->backend->put(on->comm, buffer + first * b->values.size, b->expected,
                             n * b->values.size, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- results ---- */

/* Part i of what this rank receives: of which rank, and where in that one's send buffer it begins.
 */
static uint64_t source(const struct collective_bench *b, const struct size *s, uint64_t i,
                       int *rank)
{
    uint64_t own = (uint64_t)b->on->member * s->count;
    int n = b->on->where.ranks;
    switch (b->op) {
    case SPECTER_REDUCESCATTER:
        *rank = BENCH_REDUCED;
        return own;
    case SPECTER_ALLREDUCE:
    case SPECTER_REDUCE:
        *rank = BENCH_REDUCED;
        return 0;
    case SPECTER_ALLTOALL:
        *rank = (int)i;
        return own;
    case SPECTER_ALLGATHER:
    case SPECTER_GATHER:
        *rank = (int)i;
        return 0;
    case SPECTER_SCATTER:
        *rank = s->root;
        return own;
    case SPECTER_BROADCAST:
        *rank = s->root;
        return 0;
    default:
        *rank = (b->on->member + n - 1) % n;
        return 0;
    }
}

/* Number of wrong elements; offset: the first one's place in what the rank received. */
struct check_result {
    double wrong;
    double offset;
};

static int check_part(struct collective_bench *b, const struct size *s, const char *received,
                      uint64_t part, struct check_result *v, struct err *e)
{
    const struct bench_communicator *on = b->on;
    uint64_t most = b->plan->check / b->values.size;
    uint64_t elements = s->count < most ? s->count : most;
    size_t size = b->values.size, step = CHUNK / size;
    int rank;
    uint64_t begins = source(b, s, part, &rank);
    for (uint64_t first = 0; first < elements; first += step) {
        size_t n = elements - first < step ? (size_t)(elements - first) : step;
        const uint64_t at = part * s->count + first;
        if (on->backend->get(on->comm, b->got, received + at * size, n * size, e) < 0)
            return -1;
        bench_values_fill(&b->values, rank, begins + first, n, b->expected);
        if (memcmp(b->expected, b->got, n * size) == 0)
            continue;
        for (size_t i = 0; i < n; i++) {
            if (memcmp(b->expected + i * size, b->got + i * size, size) != 0 && v->wrong++ == 0)
                v->offset = (double)(at + i);
        }
    }
    return 0;
}

/* One call, and what this rank received by it. */
static int check(struct collective_bench *b, const struct size *s, struct check_result *v,
                 struct err *e)
{
    const struct bench_communicator *on = b->on;
    bool receives = !has_root(b->op) || b->op == SPECTER_BROADCAST || b->op == SPECTER_SCATTER ||
                    on->member == s->root;
    struct bench_call call;
    *v = (struct check_result){0};
    place_buffers(b, s, &call);
    if (on->backend->set(on->comm, b->receive, 0xA5, (size_t)(parts_received(b) * s->part), e) <
            0 ||
        fill(b, s,
             s->in_place ? (char *)(uintptr_t)(parts_sent(b) > 1 ? b->receive : call.send)
                         : b->send,
             e) < 0 ||
        on->backend->call(on->comm, &call, e) < 0 || on->backend->wait(on->comm, e) < 0)
        return -1;
    for (uint64_t i = 0; receives && i < parts_received(b); i++) {
        if (check_part(b, s, call.receive, i, v, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- times ---- */

/* Call number i. With roots that rotate, Broadcasts reach the next root last, and Reduces start
 * there: no call begins before the one before it is over. */
static int call_once(const struct collective_bench *b, const struct bench_call *call, size_t i,
                     struct err *e)
{
    const size_t n = (size_t)b->on->where.ranks;
    struct bench_call one = *call;
    if (b->plan->rotate_root && has_root(b->op))
        one.root = (int)(b->op == SPECTER_BROADCAST ? (n - i % n) % n : i % n);
    return b->on->backend->call(b->on->comm, &one, e);
}

/* This rank's times of the calls, and of the loop after them. The call in front is not timed. */
static int time_calls(struct collective_bench *b, const struct bench_call *call, struct err *e)
{
    const struct bench_backend *backend = b->on->backend;
    struct bench_comm *comm = b->on->comm;
    size_t iters = (size_t)b->plan->iters;
    const struct bench_call barrier = {.op = SPECTER_ALLREDUCE,
                                       .dtype = SPECTER_INT32,
                                       .redop = SPECTER_REDOP_SUM,
                                       .count = 1,
                                       .send = b->send,
                                       .receive = b->receive};
    double celsius;
    for (int i = 0; b->ahead != NULL && i < AHEAD_TIMES; i++) {
        if (backend->set(comm, b->ahead, i, AHEAD_BYTES, e) < 0)
            return -1;
    }
    if (call_once(b, call, 0, e) < 0)
        return -1;
    /* Ends when all ranks have come. A Broadcast's root does not wait for them, so that a call of
     * the operation itself would not do; libraries that do not enqueue come from a barrier of the
     * hosts. */
    if (backend->enqueues && backend->call(comm, &barrier, e) < 0)
        return -1;
    if (backend->mark(comm, 0, e) < 0)
        return -1;
    for (size_t i = 1; i <= iters; i++) {
        if (call_once(b, call, i, e) < 0 || backend->mark(comm, i, e) < 0)
            return -1;
    }
    if (backend->wait(comm, e) < 0)
        return -1;
    for (size_t i = 0; i < iters; i++)
        b->us[i] = backend->us(comm, i, i + 1);
    b->us[iters] = backend->us(comm, 0, iters);
    celsius = backend->gpu != NULL ? bench_nvml_celsius(backend->gpu(comm)->bus_id) : 0;
    b->us[iters + 1] = celsius > 0 ? celsius : 0;
    return 0;
}

/* ---- a row ---- */

/* The ranks that are not in the communicator take part in exchanges alone. */
static int measure(struct collective_bench *b, const struct size *s, struct check_result *all,
                   struct err *e)
{
    const struct bench_communicator *on = b->on;
    struct bench_call call;
    struct check_result mine = {0};
    int status = 0;
    place_buffers(b, s, &call);
    memset(b->us, 0, ((size_t)b->plan->iters + 2) * sizeof *b->us);
    if (on->comm != NULL && b->plan->check > 0)
        status = check(b, s, &mine, e);
    for (int i = 0; on->comm != NULL && i < b->plan->warmup && status == 0; i++) {
        status = call_once(b, &call, (size_t)i, e);
        if (status == 0)
            status = on->backend->mark(on->comm, (size_t)i, e);
    }
    if (on->comm != NULL && status == 0)
        status = on->backend->wait(on->comm, e);
    if (bench_ranks_agree_or_fail(on->ranks, status, e) < 0)
        return -1;
    status = on->comm != NULL ? time_calls(b, &call, e) : 0;
    if (bench_ranks_agree_or_fail(on->ranks, status, e) < 0 ||
        bench_ranks_max(on->ranks, b->us, (size_t)b->plan->iters + 2, e) < 0)
        return -1;
    return bench_ranks_gather(on->ranks, &mine, sizeof mine, all, e);
}

static int add_row(struct collective_bench *b, const struct size *s, struct bench_result *result,
                   struct bench_run *run, struct err *e)
{
    const size_t iters = (size_t)b->plan->iters;
    struct check_result *all = array_new((size_t)b->on->world, sizeof *all);
    int status = measure(b, s, all, e);
    if (status == 0) {
        struct bench_row *row = bench_row_add(run);
        double *samples = arena_alloc(&result->arena, iters * sizeof *samples);
        struct bench_stats stats;
        row->op = b->op;
        row->dtype = b->plan->dtype;
        row->redop = specter_comm_op_reduces(b->op) ? b->plan->redop : SPECTER_REDOP_NONE;
        row->root = has_root(b->op) ? s->root : -1;
        row->bytes = s->whole;
        row->count = s->count;
        row->where = b->on->where;
        row->in_place = s->in_place;
        row->wrong = b->plan->check > 0 ? 0 : (double)NAN;
        for (int i = 0; i < b->on->world && b->plan->check > 0; i++)
            row->wrong += all[i].wrong;
        memcpy(samples, b->us, iters * sizeof *samples);
        row->sample = samples;
        row->nsamples = iters;
        row->time_us = b->us[iters] / (double)iters;
        if (b->us[iters + 1] > 0)
            row->celsius = b->us[iters + 1];
        bench_stats_of(samples, iters, &stats);
        row->min_us = stats.min;
        row->median_us = stats.median;
        row->p99_us = stats.p99;
        row->cv = stats.cv;
        bench_row_rates(row);
        for (int i = 0; i < b->on->world; i++) {
            if (all[i].wrong > 0)
                bench_note(result, "", 0,
                           "%s of %llu bytes%s: rank %d received %.0f wrong elements, the first "
                           "at element %.0f",
                           specter_comm_op_name(b->op), (unsigned long long)row->bytes,
                           row->in_place ? ", in place" : "", i, all[i].wrong, all[i].offset);
        }
        if (b->plan->row != NULL)
            b->plan->row(row, b->plan->row_arg);
    }
    free(all);
    return status;
}

/* ---- sizes and operations ---- */

static struct size size_of(const struct collective_bench *b, uint64_t asked)
{
    const struct bench_plan *p = b->plan;
    uint64_t n = (uint64_t)b->on->where.ranks;
    struct size s = {0};
    s.count = p->elements ? asked : bench_op_count(b->op, p->dtype, asked, b->on->where.ranks);
    s.part = s.count * (specter_dtype_bits(p->dtype) / 8);
    s.whole = specter_comm_op_bytes(b->op, s.count, p->dtype, n);
    return s;
}

/* Asks all ranks whether any wants to stop, or has too little memory. All ranks learn the answer.
 */
static int ask_all(struct collective_bench *b, const struct size *s, bool *stop, bool *room,
                   struct err *e)
{
    double asks[2] = {b->plan->stop != NULL && b->plan->stop(),
                      b->on->comm != NULL && (s->whole == 0 || s->whole > b->room)};
    if (bench_ranks_max(b->on->ranks, asks, 2, e) < 0)
        return -1;
    *stop = asks[0] > 0;
    *room = asks[1] <= 0;
    return 0;
}

static int run_size(struct collective_bench *b, uint64_t asked, struct bench_result *result,
                    struct bench_run *run, struct err *e)
{
    struct size s = size_of(b, asked);
    bool stop, room;
    if (ask_all(b, &s, &stop, &room, e) < 0)
        return -1;
    if (stop)
        return 1;
    if (s.count == 0)
        return 0;
    if (!room) {
        bench_note(result, "", 0, "%s of %llu %s: too little memory for its buffers",
                   specter_comm_op_name(b->op), (unsigned long long)asked,
                   b->plan->elements ? "elements a rank" : "bytes");
        return 0;
    }
    for (int in_place = 0; in_place <= bench_op_in_place(b->op); in_place++) {
        s.in_place = in_place;
        if (add_row(b, &s, result, run, e) < 0)
            return -1;
    }
    return 0;
}

/* The largest size that is less than an element of each rank; *n: how many are; 0: none is. */
static uint64_t largest_empty(const struct bench_plan *p, enum specter_comm_op op, int ranks,
                              size_t *n)
{
    uint64_t largest = 0;
    *n = 0;
    for (size_t i = 0; i < p->nsizes && !p->elements; i++) {
        if (bench_op_count(op, p->dtype, p->sizes[i], ranks) > 0)
            continue;
        largest = p->sizes[i] > largest ? p->sizes[i] : largest;
        ++*n;
    }
    return largest;
}

size_t bench_plan_empty(const struct bench_plan *p, int ranks)
{
    size_t all = 0, n;
    for (size_t i = 0; i < p->nops; i++) {
        largest_empty(p, p->ops[i], ranks, &n);
        all += n;
    }
    return all;
}

static void note_empty(const struct bench_plan *p, int ranks, struct bench_result *result)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; i < p->nops; i++) {
        size_t n;
        uint64_t largest = largest_empty(p, p->ops[i], ranks, &n);
        if (n > 0)
            buf_printf(&list, "%s%s up to %llu bytes", list.len > 0 ? ", " : "",
                       specter_comm_op_name(p->ops[i]), (unsigned long long)largest);
    }
    if (list.len > 0)
        bench_note(result, "", 0, "less than one element for each of %d ranks, not measured: %s",
                   ranks, list.data);
    buf_release(&list);
}

/* ---- memory ---- */

/* Of the largest size, as far as the memory reaches; sizes beyond are passed over later. */
static int make_buffers(struct collective_bench *b, struct err *e)
{
    const struct bench_communicator *on = b->on;
    const struct bench_plan *p = b->plan;
    size_t most = CHUNK, left;
    for (size_t o = 0; o < p->nops; o++) {
        b->op = p->ops[o];
        for (size_t i = 0; i < p->nsizes; i++) {
            struct size s = size_of(b, p->sizes[i]);
            most = s.whole > most ? (size_t)s.whole : most;
        }
    }
    if (on->backend->free_bytes(on->comm, &left, e) < 0)
        return -1;
    left = left > 2 * SPARE_BYTES ? left - SPARE_BYTES - AHEAD_BYTES : left / 4;
    b->room = most < left / 2 ? most : left / 2;
    if (on->backend->alloc(on->comm, b->room, (void **)&b->send, e) < 0 ||
        on->backend->alloc(on->comm, b->room, (void **)&b->receive, e) < 0)
        return -1;
    return on->backend->enqueues ? on->backend->alloc(on->comm, AHEAD_BYTES, (void **)&b->ahead, e)
                                 : 0;
}

static void release_buffers(struct collective_bench *b)
{
    const struct bench_communicator *on = b->on;
    if (on->comm == NULL)
        return;
    on->backend->release(on->comm, b->ahead);
    on->backend->release(on->comm, b->receive);
    on->backend->release(on->comm, b->send);
}

int bench_collective(const struct bench_plan *plan, const struct bench_communicator *on,
                     struct bench_result *result, struct bench_run *run, struct err *e)
{
    struct collective_bench b = {.plan = plan, .on = on};
    int status;
    b.expected = array_new(CHUNK, 1);
    b.got = array_new(CHUNK, 1);
    b.us = array_new((size_t)plan->iters + 2, sizeof *b.us);
    status = on->comm != NULL ? make_buffers(&b, e) : 0;
    status = bench_ranks_agree(on->ranks, status, e);
    note_empty(plan, on->where.ranks, result);
    for (size_t o = 0; o < plan->nops && status == 0; o++) {
        enum specter_redop redop =
            specter_comm_op_reduces(plan->ops[o]) ? plan->redop : SPECTER_REDOP_NONE;
        b.op = plan->ops[o];
        status = bench_values_init(&b.values, plan->dtype, redop, on->where.ranks, e);
        for (size_t i = 0; i < plan->nsizes && status == 0; i++)
            status = run_size(&b, plan->sizes[i], result, run, e);
        bench_values_release(&b.values);
    }
    release_buffers(&b);
    free(b.us);
    free(b.got);
    free(b.expected);
    return status;
}

/* ---- single operations ---- */

struct bench_meter {
    struct collective_bench bench;
    struct bench_plan plan; /* bench's */
    struct bench_communicator on;
    struct bench_comm *owner; /* of the buffers */
    struct size size;
    bool has_values;
};

struct bench_meter *bench_meter_open(const struct bench_plan *plan,
                                     const struct bench_communicator *on, struct err *e)
{
    struct bench_meter *m = array_new(1, sizeof *m);
    m->plan = *plan;
    m->on = *on;
    m->owner = on->comm;
    m->bench = (struct collective_bench){.plan = &m->plan, .on = &m->on};
    m->bench.expected = array_new(CHUNK, 1);
    m->bench.got = array_new(CHUNK, 1);
    if (bench_ranks_agree(on->ranks, make_buffers(&m->bench, e), e) == 0)
        return m;
    bench_meter_close(m);
    return NULL;
}

void bench_meter_close(struct bench_meter *m)
{
    if (m == NULL)
        return;
    m->on.comm = m->owner;
    release_buffers(&m->bench);
    if (m->has_values)
        bench_values_release(&m->bench.values);
    free(m->bench.expected);
    free(m->bench.got);
    free(m);
}

int bench_meter_size(struct bench_meter *m, enum specter_comm_op op, uint64_t bytes,
                     uint64_t *whole, struct err *e)
{
    struct collective_bench *b = &m->bench;
    bool stop, room;
    if (!m->has_values || b->op != op) {
        enum specter_redop redop = specter_comm_op_reduces(op) ? m->plan.redop : SPECTER_REDOP_NONE;
        if (m->has_values)
            bench_values_release(&b->values);
        m->has_values = true;
        if (bench_values_init(&b->values, m->plan.dtype, redop, m->on.where.ranks, e) < 0)
            return -1;
    }
    b->op = op;
    m->size = size_of(b, bytes);
    *whole = m->size.whole;
    m->on.comm = m->owner;
    if (ask_all(b, &m->size, &stop, &room, e) < 0)
        return -1;
    return m->size.count > 0 && room ? 0 : 1;
}

int bench_meter_check(struct bench_meter *m, struct bench_comm *comm, double *wrong, struct err *e)
{
    struct check_result mine = {0}, *all = array_new((size_t)m->on.world, sizeof *all);
    int status;
    m->on.comm = comm;
    status = bench_ranks_agree(m->on.ranks, check(&m->bench, &m->size, &mine, e), e);
    if (status == 0)
        status = bench_ranks_gather(m->on.ranks, &mine, sizeof mine, all, e);
    *wrong = 0;
    for (int i = 0; i < m->on.world && status == 0; i++)
        *wrong += all[i].wrong;
    free(all);
    return status;
}

int bench_meter_time(struct bench_meter *m, struct bench_comm *comm, size_t calls, double *us,
                     struct err *e)
{
    struct bench_call call;
    int status;
    m->on.comm = comm;
    m->plan.iters = (int)calls;
    m->bench.us = array_new(calls + 2, sizeof *us);
    place_buffers(&m->bench, &m->size, &call);
    status = bench_ranks_agree(m->on.ranks, 0, e); /* none begins before all have come */
    if (status == 0)
        status = bench_ranks_agree(m->on.ranks, time_calls(&m->bench, &call, e), e);
    *us = m->bench.us[calls] / (double)calls;
    if (status == 0)
        status = bench_ranks_max(m->on.ranks, us, 1, e);
    free(m->bench.us);
    return status;
}

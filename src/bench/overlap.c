/* SPDX-License-Identifier: MIT
 *
 * Enqueues GEMMs and a communicator's collectives on two streams of one GPU and times one side,
 * alone and beside the other; then the ranks agree on the slowest time (overlap.h).
 */
#include "bench/overlap.h"

#include "base/arena.h"
#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_US 2000 /* the timed calls of a block take about so long together */
#define CALLS_MIN 3   /* fewer where OTHERS_MAX calls would not outlast so many */
#define CALLS_MAX 64
/* The calls of the other side run OUTLAST times as long as the timed ones, and OTHERS_MIN more. */
#define OUTLAST 1.5
#define OTHERS_MIN 4
#define OTHERS_MAX 480 /* a stream takes about 1000 launches */
#define TRIES 4        /* to outlast the timed calls; each doubles the number of others */
#define WARM_CALLS 3
#define TIE 0.005  /* means closer than 0.5 % count as equal */
#define SETS_MAX 8 /* of operands, used in turn so that they come from memory and not from L2 */

/* With few waves of tiles it is chance how much a GEMM loses by the SMs that it lacks: a wave more,
 * or nothing. So the large ones have many.
 * clang-format off */
const struct bench_overlap_gemm bench_overlap_gemms[BENCH_OVERLAP_GEMMS] = {
    {false, {&bench_gemm_types[0], .m = 4096, .n = 4096, .k = 4096, .batch = 1, .w_trans = true}},
    {false, {&bench_gemm_types[0], .m = 16384, .n = 16384, .k = 2048, .batch = 1, .w_trans = true}},
    {true, {&bench_gemm_types[0], .m = 16, .n = 8192, .k = 8192, .batch = 1, .w_trans = true}},
};
/* clang-format on */

enum { GO, FIRST, LAST, OTHERS_LAST, EVENTS }; /* events of the GPU */
_Static_assert(EVENTS == BENCH_OVERLAP_EVENTS, "an event of each kind");
enum { GEMM, COLLECTIVE, SIDES };

/* One row that is being measured. */
struct overlap_bench {
    struct bench_overlap *o;
    const struct bench_communicator *on;
    const struct bench_gemm_shape *shape;
    struct bench_call call;
    struct bench_gpu *streams[SIDES]; /* the same GPU, each with its stream */
    int sets;                         /* of operands */
    int done;                         /* GEMMs so far: the next one's operands */
    double us[SIDES];                 /* of a call alone, roughly */
    int calls[SIDES];                 /* timed in a block */
    int others[SIDES];                /* calls of the other side beside them */
};

const char *bench_overlap_bound(bool memory)
{
    return memory ? "memory-bound" : "compute-bound";
}

void bench_overlap_log_release(struct bench_overlap_log *log)
{
    free(log->rows);
    *log = (struct bench_overlap_log){0};
}

/* ---- what rows say together ---- */

double bench_overlap_saved(const struct bench_overlap_row *row)
{
    return 1 / row->gemm.slowdown + 1 / row->collective.slowdown - 1;
}

/* Both begin together; what is left of the longer one runs alone. */
double bench_overlap_together(const struct bench_overlap_log *log,
                              const struct bench_overlap_row *row)
{
    const double slow = row->gemm.slowdown, comm_slow = row->collective.slowdown;
    const double comm = row->collective.alone_us;
    double least = comm, gemms, comms;
    for (size_t i = 0; i < log->n; i++) {
        const struct bench_overlap_row *r = &log->rows[i];
        if (r->op == row->op)
            least = fmin(least, r->collective.alone_us);
    }
    gemms = least * slow;
    comms = comm * comm_slow;
    return (gemms < comms ? gemms + comm - gemms / comm_slow : comms + least - comms / slow) /
           least;
}

static size_t rows_with(const struct bench_overlap_log *l, int channels)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += l->rows[i].channels == channels;
    return n;
}

/* The logarithm of the geometric mean over the rows of a number of channels. */
static double log_mean_together(const struct bench_overlap_log *l, int channels)
{
    double sum = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->rows[i].channels == channels)
            sum += log(bench_overlap_together(l, &l->rows[i]));
    }
    return sum / (double)rows_with(l, channels);
}

int bench_overlap_best(const struct bench_overlap_log *log)
{
    size_t all = 0;
    double least = INFINITY;
    int best = -1;
    for (size_t i = 0; i < log->n; i++) {
        size_t n = rows_with(log, log->rows[i].channels);
        all = n > all ? n : all;
    }
    for (size_t i = 0; i < log->n; i++) {
        int channels = log->rows[i].channels;
        double mean = rows_with(log, channels) == all ? log_mean_together(log, channels) : INFINITY;
        if (mean < least - TIE) {
            least = mean;
            best = channels;
        }
    }
    return best;
}

/* ---- calls ---- */

static int enqueue_calls(struct overlap_bench *b, int side, int count, struct err *e)
{
    int status = 0;
    for (int i = 0; i < count && status == 0; i++) {
        if (side == COLLECTIVE) {
            status = b->on->backend->call(b->on->comm, &b->call, e);
        } else {
            size_t set = (size_t)(b->done++ % b->sets);
            status = bench_blas_gemm(&b->o->blas, b->shape, set * bench_blas_operand_set(b->shape),
                                     set * bench_blas_result_set(b->shape), e);
        }
    }
    return status;
}

static int enqueue_event(struct overlap_bench *b, int side, int event, struct err *e)
{
    return bench_gpu_event(b->streams[side], &b->o->events[event], e);
}

static double us_between(const struct overlap_bench *b, int begin, int end)
{
    return bench_gpu_us(b->streams[GEMM], b->o->events[begin], b->o->events[end]);
}

/* Enqueues a fill as large as L2, so that the host is ahead of it with what follows. */
static int enqueue_fill(struct overlap_bench *b, int side, struct err *e)
{
    return bench_gpu_set(b->streams[side], b->o->blas.flush, 0, b->o->blas.flush_bytes, e);
}

/* Enqueues calls of the other side, which begin first and should outlast the timed ones: the timed
 * stream waits for the first of them. */
static int enqueue_others(struct overlap_bench *b, int side, struct err *e)
{
    int other = 1 - side;
    if (enqueue_fill(b, other, e) < 0 || enqueue_calls(b, other, 1, e) < 0 ||
        enqueue_event(b, other, GO, e) < 0 || enqueue_calls(b, other, b->others[side], e) < 0 ||
        enqueue_event(b, other, OTHERS_LAST, e) < 0)
        return -1;
    return bench_gpu_await(b->streams[side], b->o->events[GO], e);
}

/* Times a block of calls. The call before it is not timed: if it is a collective, this rank waits
 * in it for the slowest one. *us: the time of a call on the slowest rank. *outlasted: the others
 * have outlasted them on all ranks. */
static int time_block(struct overlap_bench *b, int side, bool beside, double *us, bool *outlasted,
                      struct err *e)
{
    double values[2] = {0, 0};
    int status = beside ? enqueue_others(b, side, e) : enqueue_fill(b, side, e);
    if (status < 0 || enqueue_calls(b, side, 1, e) < 0 || enqueue_event(b, side, FIRST, e) < 0 ||
        enqueue_calls(b, side, b->calls[side], e) < 0 || enqueue_event(b, side, LAST, e) < 0 ||
        b->on->backend->wait(b->on->comm, e) < 0 ||
        bench_gpu_wait(b->streams[GEMM], NULL, NULL, e) < 0) {
        status = -1;
    } else {
        values[0] = us_between(b, FIRST, LAST) / b->calls[side];
        values[1] = beside && us_between(b, LAST, OTHERS_LAST) < 0;
        if (!(values[0] > 0))
            status = err_set(e, ERR_INPUT, "the GPU tells no time of a call");
    }
    if (bench_ranks_agree_or_fail(b->on->ranks, status, e) < 0 ||
        bench_ranks_max(b->on->ranks, values, 2, e) < 0)
        return -1;
    *us = values[0];
    *outlasted = values[1] <= 0;
    return 0;
}

/* ---- a row ---- */

static int count_between(double count, int least, int most)
{
    return count < least ? least : count > most ? most : (int)count;
}

enum { STOPPED = 1, APART }; /* why a row has no figures; -1: an error */

/* Estimates the time of a call alone, and from it how many calls are timed and how many run beside
 * them. APART: OTHERS_MAX calls of the other side do not outlast one call. */
static int estimate(struct overlap_bench *b, struct err *e)
{
    for (int side = 0; side < SIDES; side++) {
        bool unused;
        b->calls[side] = WARM_CALLS;
        if (time_block(b, side, false, &b->us[side], &unused, e) < 0)
            return -1;
    }
    for (int side = 0; side < SIDES; side++) {
        double others = OUTLAST * b->us[side] / b->us[1 - side]; /* beside each call */
        double most = (OTHERS_MAX - OTHERS_MIN) / others;
        b->calls[side] = count_between(BLOCK_US / b->us[side], CALLS_MIN, CALLS_MAX);
        if (most < 1)
            return APART;
        if (b->calls[side] > most)
            b->calls[side] = (int)most;
        b->others[side] = (int)(others * b->calls[side]) + OTHERS_MIN;
    }
    return 0;
}

/* Times a block with calls of the other side beside it. APART: those do not outlast it. */
static int time_beside(struct overlap_bench *b, int side, double *us, struct err *e)
{
    bool outlasted = false;
    for (int i = 0; i < TRIES; i++) {
        if (time_block(b, side, true, us, &outlasted, e) < 0)
            return -1;
        if (outlasted)
            return 0;
        b->others[side] = count_between(2.0 * b->others[side], 0, OTHERS_MAX);
    }
    return APART;
}

static struct bench_overlap_side sum_up(const struct overlap_bench *b, int side,
                                        const double *alone, const double *beside, int repeats)
{
    struct bench_stats a, c;
    bench_stats_of(alone, (size_t)repeats, &a);
    bench_stats_of(beside, (size_t)repeats, &c);
    return (struct bench_overlap_side){.alone_us = a.median,
                                       .beside_us = c.median,
                                       .slowdown = c.median / a.median,
                                       .spread = hypot(a.spread, c.spread),
                                       .calls = b->calls[side]};
}

/* us: room for 4 times plan->repeats. STOPPED: a rank wants to stop; each repetition asks for that,
 * because a row with many takes long. APART: the two cannot be kept beside each other. */
static int measure(struct overlap_bench *b, const struct bench_overlap_plan *plan, double *us,
                   struct bench_overlap_row *row, struct err *e)
{
    const int repeats = plan->repeats;
    double *const alone[SIDES] = {us, us + repeats};
    double *const beside[SIDES] = {us + 2 * repeats, us + 3 * repeats};
    int status = estimate(b, e);
    for (int i = 0; i < SIDES * repeats && status == 0; i++) {
        int side = i % SIDES, at = i / SIDES;
        double stop = side == 0 && plan->stop != NULL && plan->stop();
        bool unused;
        if (side == 0 && bench_ranks_max(b->on->ranks, &stop, 1, e) < 0)
            return -1;
        if (side == 0 && stop > 0)
            return STOPPED;
        status = time_block(b, side, false, &alone[side][at], &unused, e);
        if (status == 0)
            status = time_beside(b, side, &beside[side][at], e);
    }
    if (status != 0)
        return status;
    row->gemm = sum_up(b, GEMM, alone[GEMM], beside[GEMM], repeats);
    row->collective = sum_up(b, COLLECTIVE, alone[COLLECTIVE], beside[COLLECTIVE], repeats);
    return 0;
}

static void note_row(const struct bench_overlap_row *row, const char *why,
                     struct bench_result *result)
{
    bench_note(result, "", 0, "%s of %llu bytes overlapped by the %s GEMM: %s",
               specter_comm_op_name(row->op), (unsigned long long)row->bytes,
               bench_overlap_bound(row->of->memory), why);
}

static int run_row(struct overlap_bench *b, const struct bench_overlap_plan *plan,
                   struct bench_overlap_row *row, struct bench_overlap_log *log,
                   struct bench_result *result, struct err *e)
{
    const struct bench_gemm_shape *s = &row->of->shape;
    const size_t operands = b->o->blas.operand_bytes / bench_blas_operand_set(s);
    const size_t results = b->o->blas.result_bytes / bench_blas_result_set(s);
    const size_t sets = operands < results ? operands : results;
    const uint64_t count = bench_op_count(row->op, SPECTER_BF16, row->bytes, row->where.ranks);
    double lacks = sets < 1 || row->bytes > b->o->room, *us;
    int status;
    b->shape = s;
    b->sets = sets < SETS_MAX ? (int)sets : SETS_MAX;
    b->call = (struct bench_call){.op = row->op,
                                  .dtype = SPECTER_BF16,
                                  .redop = SPECTER_REDOP_SUM,
                                  .count = count,
                                  .send = b->o->buffers[0],
                                  .receive = b->o->buffers[1]};
    if (bench_ranks_max(b->on->ranks, &lacks, 1, e) < 0)
        return -1;
    if (lacks > 0 || count == 0) {
        note_row(row, "too little memory", result);
        return 0;
    }
    us = array_new(4 * (size_t)plan->repeats, sizeof *us);
    status = measure(b, plan, us, row, e);
    free(us);
    if (status == APART)
        note_row(row, "one of them takes too long for the other to overlap it", result);
    if (status != 0)
        return status == APART ? 0 : status;
    ARRAY_GROW(log->rows, log->cap, log->n + 1);
    log->rows[log->n++] = *row;
    if (plan->row != NULL)
        plan->row(plan->arg);
    return 0;
}

/* ---- memory ---- */

int bench_overlap_open(struct bench_overlap *o, int device, struct err *e)
{
    const bool wanted[BENCH_GEMM_TYPES] = {true}; /* bf16 */
    *o = (struct bench_overlap){.room = 0};
    return bench_gpu_open(&o->gpu, device, e) < 0 ||
                   bench_blas_open(&o->blas, &o->gpu, wanted, e) < 0
               ? -1
               : 0;
}

void bench_overlap_close(struct bench_overlap *o)
{
    for (size_t i = 0; i < EVENTS && o->gpu.calls != NULL; i++)
        bench_gpu_forget_event(&o->gpu, o->events[i]);
    bench_blas_close(&o->blas);
    if (o->gpu.calls != NULL)
        bench_gpu_close(&o->gpu);
}

/* Makes two buffers of the largest size, or of a quarter of the free memory where that is less. */
static int make_buffers(struct overlap_bench *b, const struct bench_overlap_plan *plan,
                        struct err *e)
{
    const struct bench_backend *backend = b->on->backend;
    size_t left;
    if (backend->free_bytes(b->on->comm, &left, e) < 0)
        return -1;
    b->o->room = plan->bytes < left / 4 ? (size_t)plan->bytes : left / 4;
    for (int i = 0; i < 2; i++) {
        if (backend->alloc(b->on->comm, b->o->room, &b->o->buffers[i], e) < 0 ||
            backend->set(b->on->comm, b->o->buffers[i], 0, b->o->room, e) < 0)
            return -1;
    }
    return 0;
}

int bench_overlap(struct bench_overlap *o, const struct bench_overlap_plan *plan,
                  const struct bench_communicator *on, struct bench_overlap_log *log,
                  struct bench_result *result, struct err *e)
{
    struct overlap_bench b = {.o = o, .on = on, .streams = {&o->gpu, on->backend->gpu(on->comm)}};
    int status = bench_ranks_agree(on->ranks, make_buffers(&b, plan, e), e);
    for (size_t i = 0; i < plan->nops * BENCH_OVERLAP_GEMMS && status == 0; i++) {
        struct bench_overlap_row row = {.channels = plan->channels,
                                        .op = plan->ops[i / BENCH_OVERLAP_GEMMS],
                                        .bytes = plan->bytes,
                                        .where = on->where,
                                        .of = &bench_overlap_gemms[i % BENCH_OVERLAP_GEMMS]};
        status = run_row(&b, plan, &row, log, result, e);
    }
    for (int i = 0; i < 2; i++) {
        on->backend->release(on->comm, o->buffers[i]);
        o->buffers[i] = NULL;
    }
    return status;
}

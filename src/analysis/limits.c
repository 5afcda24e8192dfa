/* SPDX-License-Identifier: MIT */
#include "analysis/limits.h"

#include "analysis/comm.h"
#include "analysis/time_breakdown.h"
#include "trace/match.h"
#include "trace/rank_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CARD_NETWORK "consumer_pcie" /* where graphics cards sit */
#define L2_UNKNOWN 64e6              /* bytes */

/* Begin and end of a rank's recording: rank_extent(). */
struct recorded_span {
    int64_t begin_ns, end_ns;
};

struct limits {
    const struct run *run;
    const struct gpu_profile **gpus; /* [run->nranks] NULL unknown; owned */
    int64_t longest_ns;              /* recording of a rank */
    struct recorded_span *extents;   /* [run->nranks], owned */
};

/* A figure that is too large. */
struct excess {
    const struct rank *rank;
    const struct op *op;
    const char *limit; /* "the memory" */
    const char *unit;  /* of what follows: "B/s" */
    double rate, most;
};

/* ---- words ---- */

static void put_rate(char *buf, size_t size, double per_s, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    for (; per_s >= 1000 && i + 1 < sizeof prefixes / sizeof *prefixes; i++)
        per_s /= 1000;
    snprintf(buf, size, "%.3g %s%s", per_s, prefixes[i], unit);
}

static int set_error(const struct excess *x, struct err *e)
{
    char bytes[32], what[160], have[48], most[48];
    const struct op *op = x->op;
    int64_t dur_ns = 0;
    op_device_duration(op, &dur_ns);
    put_rate(bytes, sizeof bytes, (double)op->bytes, "B");
    if (op->class == OP_GEMM)
        snprintf(what, sizeof what, "GEMM %ux%ux%u", op->gemm.m, op->gemm.n, op->gemm.k);
    else if (op->class == OP_MEMORY)
        snprintf(what, sizeof what, "%s of %s", op->name, bytes);
    else
        snprintf(what, sizeof what, "%s of %s",
                 specter_comm_op_name((enum specter_comm_op)op->coll.op), bytes);
    put_rate(have, sizeof have, x->rate, x->unit);
    put_rate(most, sizeof most, x->most, x->unit);
    return err_set(e, ERR_INPUT,
                   "%s: rank %d: %s in %.3g us is %s, above what %s of '%s' can do (%s): times or "
                   "sizes in this trace are wrong",
                   x->rank->file, x->rank->rank, what, (double)dur_ns / 1e3, have, x->limit,
                   x->rank->gpu, most);
}

/* ---- GEMMs ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* No limit where no GEMM on these types has a known peak. */
static bool check_gemm(const struct gpu_profile *gpu, const struct op *op, double ns,
                       struct excess *x)
{
    double flops = 2.0 * op->gemm.m * op->gemm.n * op->gemm.k * op->gemm.batch;
    double peak =
        gpu_peak_tflops(gpu, (enum specter_dtype)op->dtype, (enum specter_dtype)op->gemm.compute);
    bool card = gpu->network != NULL && strcmp(gpu->network, CARD_NETWORK) == 0;
    if (peak > 0 && op->dtype == SPECTER_FP32)
        peak = larger(peak, gpu->tf32_tflops);
    if (peak > 0 && op->dtype == SPECTER_FP64)
        peak = larger(peak, gpu->int8_tops / 16);
    x->unit = "FLOP/s";
    x->limit = "the GEMM units";
    x->rate = flops / ns * 1e9;
    x->most = peak * 1e12 * (card ? LIMIT_PEAK_CARD : LIMIT_PEAK);
    return x->most == 0 || x->rate <= x->most || strcasestr(op->name, "sparse") != NULL;
}

/* ---- copies ---- */

static bool name_has(const struct op *op, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcasestr(op->name, *words) != NULL)
            return true;
    }
    return false;
}

static bool check_copy(const struct gpu_profile *gpu, const struct op *op, double ns,
                       struct excess *x)
{
    static const char *const host[] = {"HtoD", "DtoH", "h2d", "d2h", NULL};
    static const char *const device[] = {"DtoD", "d2d", NULL};
    static const char *const fill[] = {"memset", NULL};
    double bytes = (double)op->bytes, l2 = gpu->l2_MB > 0 ? gpu->l2_MB * 1e6 : L2_UNKNOWN;
    x->unit = "B/s";
    if (name_has(op, host) && gpu->pcie_GBps > 0) {
        x->limit = "the host link";
        x->most = larger(gpu->pcie_GBps, gpu->nvlink_GBps) * 1e9 * LIMIT_LINK;
    } else if (bytes >= 4 * l2 && (name_has(op, device) || name_has(op, fill))) {
        x->limit = "the memory";
        x->most = gpu->mem_GBps * 1e9 * LIMIT_LINK / (name_has(op, fill) ? 1 : 2);
    } else {
        return true;
    }
    x->rate = bytes / ns * 1e9;
    return x->most == 0 || x->rate <= x->most;
}

static bool op_sized(const struct op *op)
{
    return op->bytes > 0 && !(op->flags & OP_BYTES_UNKNOWN);
}

static int check_work(const struct limits *l, size_t r, struct err *e)
{
    const struct rank *rank = &l->run->ranks[r];
    const struct gpu_profile *gpu = l->gpus[r];
    for (size_t i = 0; i < rank->nops && gpu != NULL; i++) {
        const struct op *op = &rank->ops[i];
        struct excess x = {.rank = rank, .op = op};
        int64_t dur_ns;
        double ns;
        if ((op->class != OP_GEMM && op->class != OP_MEMORY) || !op_device_duration(op, &dur_ns))
            continue;
        ns = (double)(dur_ns + LIMIT_NS);
        if (op->class == OP_GEMM ? !check_gemm(gpu, op, ns, &x)
                                 : op_sized(op) && !check_copy(gpu, op, ns, &x))
            return set_error(&x, e);
    }
    return 0;
}

/* ---- communication ---- */

double limit_comm_bytes(enum specter_comm_op op, double bytes, int n)
{
    if (n < 2)
        return 0;
    switch (op) {
    case SPECTER_ALLREDUCE:
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
    case SPECTER_SEND:
    case SPECTER_RECV:
        return bytes;
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
    case SPECTER_ALLTOALL:
        return bytes * (n - 1) / n;
    default:
        return 0;
    }
}

/* GB/s, per direction: what a GPU's links can do together, with a bridge where it can have one; 0:
 * not known. */
static double links_of(const struct gpu_profile *gpu)
{
    return gpu->pcie_GBps > 0 ? gpu->nvlink_GBps + gpu->bridge_GBps + gpu->pcie_GBps : 0;
}

bool limit_beyond_links(const struct gpu_profile *gpu, enum specter_comm_op op, double algbw_GBps,
                        int n)
{
    double moved = limit_comm_bytes(op, algbw_GBps, n);
    double bus = n > 1 ? algbw_GBps * specter_comm_op_bus_factor(op, (uint64_t)n) : 0;
    double links = links_of(gpu);
    return links > 0 && (gpu->cc < 90 && bus > moved ? bus : moved) > links;
}

/* A message to the own rank crosses no link. */
static bool to_itself(const struct rank *rank, const struct op *op)
{
    bool own = false;
    for (size_t i = 0; i < rank->nin && op->class == OP_P2P; i++)
        own = own || (rank->in[i].comm == op->coll.comm && rank->in[i].rank == op->coll.peer);
    return own;
}

/* The time that a member took, and of one match the longest and the shortest. */
struct member_times {
    const struct rank *rank;
    const struct op *op; /* of the shortest */
    double shortest_ns, longest_ns;
    uint32_t timed;
    const struct gpu_profile *gpu; /* the fastest link among them; NULL: of one it is not known */
};

static void add_member(const struct limits *l, struct member_times *t, uint32_t r,
                       const struct op *op)
{
    const struct gpu_profile *gpu = l->gpus[r];
    int64_t dur_ns;
    double ns;
    if (!op_device_duration(op, &dur_ns) || to_itself(&l->run->ranks[r], op))
        return;
    ns = (double)(dur_ns + LIMIT_NS);
    if (t->timed++ == 0) {
        t->gpu = gpu;
        t->shortest_ns = t->longest_ns = ns;
        t->rank = &l->run->ranks[r];
        t->op = op;
        return;
    }
    if (t->gpu != NULL && (gpu == NULL || links_of(gpu) > links_of(t->gpu)))
        t->gpu = gpu;
    t->longest_ns = larger(t->longest_ns, ns);
    if (ns < t->shortest_ns) {
        t->shortest_ns = ns;
        t->rank = &l->run->ranks[r];
        t->op = op;
    }
}

/* `whole`: all members are timed. */
static int check_moved(const struct member_times *t, double bytes, bool whole, struct err *e)
{
    struct excess x = {.rank = t->rank, .op = t->op, .unit = "B/s"};
    double links;
    links = t->timed > 0 && t->gpu != NULL ? links_of(t->gpu) * 1e9 * LIMIT_LINK : 0;
    if (links == 0)
        return 0;
    x.rate = bytes / t->shortest_ns * 1e9;
    x.limit = "the memory";
    x.most = t->gpu->mem_GBps * 1e9 * LIMIT_MEMORY;
    if (x.rate > x.most)
        return set_error(&x, e);
    x.limit = "the links";
    x.most = links;
    if ((bytes - LIMIT_BUFFERED) / t->shortest_ns * 1e9 > links ||
        (whole && bytes / t->longest_ns * 1e9 > links))
        return set_error(&x, e);
    return 0;
}

/* No rank waits for longer than its trace: from the first to the last moment of both ranks'
 * recordings where these overlap, else the longest recording. */
static int64_t longest_wait(const struct limits *l, const struct coll_timing *m)
{
    const struct recorded_span first = l->extents[m->first_rank], last = l->extents[m->last_rank];
    if (first.begin_ns == UNKNOWN_NS || last.begin_ns == UNKNOWN_NS ||
        first.end_ns <= last.begin_ns || last.end_ns <= first.begin_ns)
        return l->longest_ns;
    return (first.end_ns > last.end_ns ? first.end_ns : last.end_ns) -
           (first.begin_ns < last.begin_ns ? first.begin_ns : last.begin_ns);
}

static int check_match(const struct limits *l, const struct matches *all, const struct match *match,
                       struct err *e)
{
    const struct match_member *members = &all->members[match->first];
    int n = match->comm >= 0 ? l->run->comms[match->comm].size : 0;
    struct member_times t = {.timed = 0};
    const struct rank *first, *last;
    struct coll_timing m;
    for (uint32_t i = 0; i < match->nmembers; i++)
        add_member(l, &t, members[i].rank, &l->run->ranks[members[i].rank].ops[members[i].op]);
    if (match->consistent && match->bytes > 0 && match->op < SPECTER_COMM_OP_COUNT) {
        double bytes = limit_comm_bytes((enum specter_comm_op)match->op, (double)match->bytes, n);
        if (check_moved(&t, bytes, t.timed == match->expected, e) < 0)
            return -1;
    }
    if (t.timed < 2 || match->op == SPECTER_SEND)
        return 0;
    coll_timing_init(&m, l->run, members, match->nmembers);
    if (m.last_start_ns == UNKNOWN_NS || m.first_rank == RANK_UNKNOWN ||
        m.last_rank == RANK_UNKNOWN || m.last_start_ns - m.first_start_ns <= longest_wait(l, &m))
        return 0;
    first = &l->run->ranks[m.first_rank];
    last = &l->run->ranks[m.last_rank];
    return err_set(
        e, ERR_INPUT,
        "%s: rank %d waits %.3g s for rank %d ('%s') in one collective, and the longest "
        "recording lasts %.3g s: these traces are not of one job, or their clocks do not "
        "agree",
        first->file, first->rank, (double)(m.last_start_ns - m.first_start_ns) / 1e9, last->rank,
        last->file, (double)l->longest_ns / 1e9);
}

/* Communication that is in no match stands for itself. */
static int check_lone(const struct limits *l, struct err *e)
{
    for (uint32_t r = 0; r < l->run->nranks; r++) {
        const struct rank *rank = &l->run->ranks[r];
        for (size_t i = 0; i < rank->nops && l->gpus[r] != NULL; i++) {
            const struct op *op = &rank->ops[i];
            struct member_times t = {.timed = 0};
            if (!op_is_comm(op) || op->coll.comm < 0 || op->coll.op >= SPECTER_COMM_OP_COUNT ||
                !op_sized(op))
                continue;
            add_member(l, &t, r, op);
            if (check_moved(&t,
                            limit_comm_bytes((enum specter_comm_op)op->coll.op, (double)op->bytes,
                                             l->run->comms[op->coll.comm].size),
                            false, e) < 0)
                return -1;
        }
    }
    return 0;
}

int limits_check(const struct run *run, struct err *e)
{
    struct limits l = {.run = run,
                       .gpus = array_new(run->nranks + 1, sizeof *l.gpus),
                       .extents = array_new(run->nranks + 1, sizeof *l.extents)};
    struct matches all;
    int rc = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        struct recorded_span *x = &l.extents[r];
        rank_extent(&run->ranks[r], &x->begin_ns, &x->end_ns);
        if (x->begin_ns != UNKNOWN_NS && x->end_ns - x->begin_ns > l.longest_ns)
            l.longest_ns = x->end_ns - x->begin_ns;
        if (run->ranks[r].gpu[0] != '\0')
            l.gpus[r] = gpu_profile_of_device(run->ranks[r].gpu);
    }
    for (size_t r = 0; r < run->nranks && rc == 0; r++)
        rc = check_work(&l, r, e);
    if (rc == 0) {
        matches_init(&all, run);
        for (size_t i = 0; i < all.count && rc == 0; i++)
            rc = check_match(&l, &all, &all.list[i], e);
        matches_release(&all);
    }
    if (rc == 0)
        rc = check_lone(&l, e);
    free(l.gpus);
    free(l.extents);
    return rc;
}

/* SPDX-License-Identifier: MIT */
#include "sim/target/retarget_internal.h"

#include "base/idmap.h"
#include "base/kernel_class.h"
#include "trace/api_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- all-to-alls that are made of messages ---- */

static bool is_part(const struct op *op)
{
    return op->class == OP_P2P && op->coll.group >= 0 && op->coll.comm >= 0;
}

static int64_t key_of(const struct op *op)
{
    return (int64_t)op->coll.group << 32 | op->coll.comm;
}

uint64_t *alltoall_bytes(const struct rank *rank)
{
    struct idmap groups = {0};
    uint64_t *by_op = array_new(rank->nops, sizeof *by_op);
    uint64_t *sums = array_new(rank->nops, sizeof *sums);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (is_part(op) && op->coll.op == SPECTER_SEND)
            sums[idmap_add(&groups, key_of(op))] += op->bytes;
    }
    for (size_t i = 0; i < rank->nops; i++) {
        uint32_t group =
            is_part(&rank->ops[i]) ? idmap_find(&groups, key_of(&rank->ops[i])) : IDMAP_NONE;
        by_op[i] = group == IDMAP_NONE ? 0 : sums[group];
    }
    idmap_release(&groups);
    free(sums);
    return by_op;
}

/* ---- what computation costs: products, other kernels, memory ---- */

static struct gemm_shape shape_of(const struct op *op)
{
    return (struct gemm_shape){
        .m = op->gemm.m,
        .n = op->gemm.n,
        .k = op->gemm.k,
        .batch = op->gemm.batch,
        .type = (enum specter_dtype)op->dtype,
        .type_c = (enum specter_dtype)op->gemm.dtype_c,
        .compute = (enum specter_dtype)op->gemm.compute,
    };
}

/* Without the launch: the engine puts that before work which finds its stream idle. */
static int shape_us(const struct gpu_profile *gpu, struct gemm_shape shape, double *us,
                    struct err *e)
{
    struct gemm_cost cost;
    if (model_gemm(gpu, &shape, &cost, e) < 0)
        return -1;
    *us = cost.busy_us;
    return 0;
}

/* On the target, of a divided batch. */
static struct gemm_shape shape_left(const struct retarget *t, const struct op *op)
{
    struct gemm_shape left = shape_of(op);
    if (retarget_is_divided(t))
        strong_scaling_divide(t->strong, op, t->scale, &left);
    return left;
}

static bool retarget_known_shape(const struct op *op)
{
    return op->class == OP_GEMM && op->gemm.m > 0 && op->gemm.n > 0 && op->gemm.k > 0 &&
           op->dtype != SPECTER_DTYPE_UNKNOWN;
}

bool retarget_memory_bound(const struct retarget *t, const struct op *op)
{
    struct gemm_cost cost;
    struct gemm_shape shape;
    struct err ignored;
    if (!retarget_known_shape(op))
        return false;
    shape = shape_left(t, op);
    return model_gemm(t->to.gpu, &shape, &cost, &ignored) == 0 && strcmp(cost.bound, "memory") == 0;
}

int retarget_divide(struct retarget *t, const struct strong_scaling *strong, struct err *e)
{
    const struct gemm_shape smallest = {.m = 1, .n = 1, .k = 1, .type = SPECTER_FP16};
    t->strong = strong;
    return shape_us(t->to.gpu, smallest, &t->least_us, e);
}

/* Sets *ns to the time of an operation on the target, by its rule. op: NULL for untimed kernels. */
static int retarget_gemm(struct retarget *t, const struct op *op, int64_t measured_ns, int64_t *ns,
                         struct err *e)
{
    struct modelled m;
    if (retarget_untouched(t, measured_ns, t->from.gpu == t->to.gpu && !retarget_is_divided(t))) {
        *ns = measured_ns;
        return 0;
    }
    if (shape_us(t->from.gpu, shape_of(op), &m.from_us, e) < 0)
        return -1;
    if (shape_us(t->to.gpu, shape_left(t, op), &m.to_us, e) < 0)
        return -1;
    *ns = retarget_apply(t, COST_GEMM, measured_ns, m);
    return 0;
}

static enum specter_kernel_class kind_of(const struct op *op)
{
    return op->class == OP_GEMM ? SPECTER_KERNEL_GEMM : kernel_class(op->name);
}

/* For untimed kernels: their time is taken as spread evenly over them. */
static double mixed_ratio(const struct retarget *t, const struct program_cost *cost)
{
    double sum = 0, all = 0;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++) {
        sum += (double)cost->classes[kind] * t->other_ratio[kind];
        all += (double)cost->classes[kind];
    }
    return all > 0 ? sum / all : t->other_ratio[SPECTER_KERNEL_OTHER];
}

static int64_t retarget_scaled(const struct retarget *t, int64_t measured_ns, double ratio)
{
    return t->from.gpu == t->to.gpu ? measured_ns : retarget_ns((double)measured_ns / 1e3 * ratio);
}

/* Of a kernel, or of those that were counted. */
static double optimizer_share(const struct program_cost *cost, const struct op *op)
{
    double all = 0;
    if (op != NULL)
        return kind_of(op) == SPECTER_KERNEL_OPTIMIZER;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++)
        all += (double)cost->classes[kind];
    return all > 0 ? (double)cost->classes[SPECTER_KERNEL_OPTIMIZER] / all : 0;
}

/* The rest of kernels where the batch is divided, by their classes; and the share of the time whose
 * part is not known. */
static double divided_ns(struct retarget *t, const struct program_cost *cost, const struct op *op,
                         double ns)
{
    double sum = 0, all = 0;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++)
        all += op != NULL ? kind == (int)kind_of(op) : (double)cost->classes[kind];
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT && all > 0; kind++) {
        double n = op != NULL ? kind == (int)kind_of(op) : (double)cost->classes[kind];
        if (kind == SPECTER_KERNEL_OTHER)
            t->untold_ns += n / all * (double)cost->measured_ns;
        sum += strong_scaling_kernel_ns((enum specter_kernel_class)kind, n / all * ns,
                                        n * t->least_us * 1e3, t->scale);
    }
    return all > 0 ? sum : ns;
}

/* By the ratio of their class; what of them is the optimizer's work on a shard shrinks with it. */
static int64_t retarget_kernel(struct retarget *t, const struct program_cost *cost,
                               const struct op *op)
{
    double ratio = op == NULL ? mixed_ratio(t, cost) : t->other_ratio[kind_of(op)];
    double share = weak_scaling_shards(t->growth) ? optimizer_share(cost, op) : 0;
    int64_t ns = retarget_scaled(t, cost->measured_ns, ratio);
    if (t->strong != NULL)
        ns = retarget_ns(divided_ns(t, cost, op, (double)ns) / 1e3);
    if (!(share > 0))
        return ns;
    t->shard_ns += share * (double)cost->measured_ns;
    if (t->scale == 1)
        return ns;
    return retarget_ns((double)ns / 1e3 * (1 - share + share / (double)t->scale));
}

/* A memset clears gradients, whose size stays. */
static int64_t retarget_memory(const struct retarget *t, const struct op *op, int64_t measured_ns)
{
    int64_t ns = retarget_scaled(t, measured_ns, t->other_ratio[SPECTER_KERNEL_COPY]);
    if (!retarget_is_divided(t) || copy_kind(op->name) == SPECTER_COPY_MEMSET)
        return ns;
    return retarget_ns(
        strong_scaling_kernel_ns(SPECTER_KERNEL_COPY, (double)ns, t->least_us * 1e3, t->scale) /
        1e3);
}

/* ---- what a graph costs: each known part by its own ratio, the rest as other kernels ---- */

/* The models' times of a graph, on both kinds of hardware. */
static int price_part(const struct retarget *t, const struct rank *rank, const struct op *op,
                      struct modelled *part, struct err *e)
{
    enum specter_comm_op what = (enum specter_comm_op)op->coll.op;
    bool comm = op_is_comm(op) && what < SPECTER_COMM_OP_COUNT && op->coll.comm >= 0 &&
                t->run->comms[op->coll.comm].size > 0 && !(op->flags & OP_BYTES_UNKNOWN);
    const struct priced_transfer transfer = {rank, op, what, (double)op->bytes};
    *part = (struct modelled){0, 0};
    if (retarget_known_shape(op))
        return shape_us(t->from.gpu, shape_of(op), &part->from_us, e) < 0
                   ? -1
                   : shape_us(t->to.gpu, shape_of(op), &part->to_us, e);
    if (!comm)
        return 0;
    if (retarget_transfer_us(t, &transfer, ON_SOURCE, &part->from_us, e) < 0)
        return -1;
    return retarget_transfer_us(t, &transfer, ON_TARGET, &part->to_us, e);
}

static bool same_places(const struct retarget *t)
{
    const struct placement *a = &t->growth->source, *b = t->there.placement;
    return a->kind == b->kind && a->per_node == b->per_node && a->of == b->of;
}

/* The measured time is shared out: to what the models know, as long as they say it takes, or all of
 * it when that is more; the rest is other kernels. Each part is scaled by its own ratio. */
static int retarget_graph(struct retarget *t, const struct program_cost *cost, const struct op *op,
                          int64_t *ns, struct err *e)
{
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct graph *what = graphs_find(&t->graphs[cost->rank], op->graph);
    struct modelled all = {0, 0}, part;
    double measured_us = (double)cost->measured_ns / 1e3, rest_us, share = 1;
    *ns = cost->measured_ns;
    if (retarget_same_hardware(t) && t->scale == 1 && t->slow_link == NULL && same_places(t))
        return 0;
    for (size_t i = 0; what != NULL && i < what->nops; i++) {
        if (price_part(t, rank, &rank->ops[what->ops[i]], &part, e) < 0)
            return -1;
        all.from_us += part.from_us;
        all.to_us += part.to_us;
    }
    if (retarget_same_hardware(t) && all.from_us == all.to_us)
        return 0;
    rest_us = measured_us - all.from_us;
    if (rest_us < 0) {
        share = measured_us / all.from_us;
        rest_us = 0;
    }
    if (t->from.gpu != t->to.gpu)
        rest_us *= t->other_ratio[SPECTER_KERNEL_OTHER];
    *ns = retarget_ns(all.to_us * share + rest_us);
    return 0;
}

/* ---- the target ---- */

const char *cost_rule_name(enum cost_rule rule)
{
    static const char *const names[] = {
#define X(id, name) name,
        COST_RULE_TABLE(X)
#undef X
    };
    return names[rule];
}

static double link_ratio(const struct gpu_profile *from, const struct gpu_profile *to)
{
    if (!(from->pcie_GBps > 0) || !(to->pcie_GBps > 0))
        return 1;
    return from->pcie_GBps / to->pcie_GBps;
}

int retarget_init(struct retarget *t, const struct program *program,
                  const struct weak_scaling *growth, const struct retarget_sides *sides,
                  struct err *e)
{
    const struct gpu_profile *from = sides->from.gpu, *to = sides->to.gpu;
    double memory;
    memset(t, 0, sizeof *t);
    t->run = program->run;
    t->program = program;
    t->growth = growth;
    t->from = sides->from;
    t->to = sides->to;
    t->calibrate = sides->calibrate;
    t->scale = sides->scale;
    t->there = (struct layout_side){sides->placed_as_recorded ? &growth->source : &growth->target,
                                    sides->to.network, sides->scale};
    t->from_where = array_new(t->run->ncomms, sizeof *t->from_where);
    t->to_where = array_new(t->run->ncomms, sizeof *t->to_where);
    for (size_t c = 0; c < t->run->ncomms; c++) {
        t->from_where[c] = weak_scaling_recorded_layout(t->growth, (int)c, t->from.network);
        t->to_where[c] = weak_scaling_layout(t->growth, (int)c, &t->there);
    }
    if (t->scale != 1 && weak_scaling_alltoalls(growth)) {
        t->sent = array_new(t->run->nranks, sizeof *t->sent);
        for (size_t r = 0; r < t->run->nranks; r++)
            t->sent[r] = alltoall_bytes(&t->run->ranks[r]);
    }
    t->link_ratio = link_ratio(from, to);
    t->graphs = array_new(t->run->nranks, sizeof *t->graphs);
    for (size_t r = 0; r < t->run->nranks; r++)
        graphs_init(&t->graphs[r], &t->run->ranks[r]);
    /* A class that a profile's figures do not suffice for is scaled as memory. */
    if (model_other_ratio(from, to, SPECTER_KERNEL_OTHER, &memory, e) < 0)
        return -1;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++) {
        double *of = &t->other_ratio[kind];
        struct err ignored;
        if (model_other_ratio(from, to, (enum specter_kernel_class)kind, of, &ignored) < 0)
            *of = memory;
    }
    return 0;
}

void retarget_release(struct retarget *t)
{
    for (size_t r = 0; t->graphs != NULL && r < t->run->nranks; r++)
        graphs_release(&t->graphs[r]);
    for (size_t r = 0; t->sent != NULL && r < t->run->nranks; r++)
        free(t->sent[r]);
    free(t->sent);
    free(t->graphs);
    free(t->from_where);
    free(t->to_where);
    memset(t, 0, sizeof *t);
}

int64_t retarget_ns(double us)
{
    double ns = us * 1e3;
    return !(ns > 0) ? 0 : ns < (double)RUN_DUR_MAX ? llround(ns) : RUN_DUR_MAX;
}

int64_t retarget_apply(struct retarget *t, enum cost_rule rule, int64_t measured_ns,
                       struct modelled m)
{
    if (measured_ns == UNKNOWN_NS || !t->calibrate) {
        t->modelled++;
        return retarget_ns(m.to_us);
    }
    if (!(m.from_us > 0))
        return measured_ns;
    t->sums[rule].priced_ns += (double)measured_ns;
    t->sums[rule].price_ns += m.from_us * 1e3;
    return retarget_ns((double)measured_ns / 1e3 * (m.to_us / m.from_us));
}

/* ---- by what rule ---- */

bool retarget_over_host_link(const struct op *op)
{
    enum specter_copy kind = copy_kind(op->name);
    return kind == SPECTER_COPY_H2D || kind == SPECTER_COPY_D2H;
}

enum cost_rule retarget_rule(const struct retarget *t, const struct program_cost *cost)
{
    const struct op *op;
    if (cost->op == PROGRAM_NONE) /* kernels that no operation stands for */
        return COST_KERNEL;
    op = &t->run->ranks[cost->rank].ops[cost->op];
    if (retarget_known_shape(op))
        return COST_GEMM;
    if (retarget_known_transfer(t, cost))
        return COST_COMM;
    if (cost->measured_ns == UNKNOWN_NS)
        return op->class == OP_MEMORY && op->timing == SPECTER_TIMING_HOST ? COST_SMALL : COST_NONE;
    if (op->class == OP_GRAPH)
        return COST_GRAPH;
    if (op->class == OP_MEMORY)
        return retarget_over_host_link(op) ? COST_LINK : COST_MEMORY;
    return op->class == OP_KERNEL || op->class == OP_GEMM ? COST_KERNEL : COST_KEPT;
}

void retarget_interval(const struct retarget *t, const struct program_cost *cost,
                       enum retarget_side side, struct accuracy_interval *out)
{
    const struct hardware *on = side == ON_TARGET ? &t->to : &t->from;
    const struct op *op;
    struct gemm_shape shape;
    if (retarget_rule(t, cost) == COST_COMM) {
        retarget_comm_interval(t, cost, side, out);
        return;
    }
    op = &t->run->ranks[cost->rank].ops[cost->op];
    shape = side == ON_TARGET ? shape_left(t, op) : shape_of(op);
    accuracy_interval_of_gemm(
        on->gpu, 2 * (double)shape.m * (double)shape.n * (double)shape.k * (double)shape.batch,
        out);
}

static int cost_by_rule(struct retarget *t, enum cost_rule rule, const struct program_cost *cost,
                        const struct op *op, int64_t *ns, struct err *e)
{
    switch (rule) {
    case COST_GEMM:
        return retarget_gemm(t, op, cost->measured_ns, ns, e);
    case COST_COMM:
        return retarget_comm(t, cost, ns, e);
    case COST_GRAPH:
        return retarget_graph(t, cost, op, ns, e);
    case COST_MEMORY:
        *ns = retarget_memory(t, op, cost->measured_ns);
        return 0;
    case COST_KERNEL:
        *ns = retarget_kernel(t, cost, op);
        return 0;
    case COST_LINK:
        *ns = retarget_scaled(t, cost->measured_ns, t->link_ratio);
        return 0;
    default:
        *ns = rule == COST_KEPT ? cost->measured_ns : 0;
        return 0;
    }
}

int retarget_cost(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e)
{
    const struct op *op =
        cost->op == PROGRAM_NONE ? NULL : &t->run->ranks[cost->rank].ops[cost->op];
    enum cost_rule rule = retarget_rule(t, cost);
    struct cost_sum *sum = &t->sums[rule];
    uint32_t members = 1;
    if (cost_by_rule(t, rule, cost, op, ns, e) < 0)
        return -1;
    sum->count++;
    if (cost->measured_ns == UNKNOWN_NS)
        return 0;
    sum->timed++;
    if (cost->match != PROGRAM_NONE)
        members = t->program->matches.list[cost->match].nmembers;
    sum->measured_ns += (double)cost->measured_ns * members;
    sum->target_ns += (double)*ns * members;
    return 0;
}

double retarget_measured_ns(const struct cost_sum sums[COST_RULES])
{
    double all_ns = 0;
    for (int rule = 0; rule < COST_RULES; rule++)
        all_ns += sums[rule].measured_ns;
    return all_ns;
}

double retarget_unmodelled(const struct retarget *t)
{
    double all_ns = retarget_measured_ns(t->sums);
    return all_ns > 0 ? (t->sums[COST_KERNEL].measured_ns + t->sums[COST_KEPT].measured_ns +
                         t->sums[COST_GRAPH].measured_ns) /
                            all_ns
                      : 0;
}

double retarget_untold(const struct retarget *t)
{
    double all_ns = retarget_measured_ns(t->sums);
    return all_ns > 0
               ? (t->untold_ns + t->sums[COST_KEPT].measured_ns + t->sums[COST_GRAPH].measured_ns) /
                     all_ns
               : 0;
}

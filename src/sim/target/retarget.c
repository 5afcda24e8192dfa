/* SPDX-License-Identifier: MIT */
#include "sim/target/retarget.h"

#include "sim/program/alltoall.h"
#include "sim/target/retarget_internal.h"
#include "trace/host_waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cost_rule_name(enum cost_rule rule)
{
    static const char *const names[] = {
#define X(id, name) name,
        COST_RULE_TABLE(X)
#undef X
    };
    return names[rule];
}

static struct layout *new_layouts(const struct retarget *t)
{
    size_t n = t->run->ncomms;
    struct layout *where = calloc(n > 0 ? n : 1, sizeof *where);
    if (where == NULL)
        die("out of memory");
    return where;
}

static void place_comms(struct retarget *t)
{
    t->from_where = new_layouts(t);
    t->to_where = new_layouts(t);
    for (size_t c = 0; c < t->run->ncomms; c++) {
        t->from_where[c] = weak_scaling_recorded_layout(t->growth, (int)c, t->from.network);
        t->to_where[c] = weak_scaling_layout(t->growth, (int)c, t->to.network, t->scale);
    }
}

static double link_ratio(const struct gpu_profile *from, const struct gpu_profile *to)
{
    if (!(from->pcie_GBps > 0) || !(to->pcie_GBps > 0))
        return 1;
    return from->pcie_GBps / to->pcie_GBps;
}

/* A class that a profile's figures do not suffice for is scaled as memory. */
static int other_ratios(struct retarget *t, struct err *e)
{
    const struct gpu_profile *from = t->from.gpu, *to = t->to.gpu;
    double *of = t->other_ratio, memory;
    if (model_other_ratio(from, to, SPECTER_KERNEL_OTHER, &memory, e) < 0)
        return -1;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++) {
        struct err ignored;
        if (model_other_ratio(from, to, (enum specter_kernel_class)kind, &of[kind], &ignored) < 0)
            of[kind] = memory;
    }
    return 0;
}

static void find_exchanges(struct retarget *t)
{
    if (t->scale == 1 || !weak_scaling_alltoalls(t->growth))
        return;
    t->sent = calloc(t->run->nranks, sizeof *t->sent);
    if (t->sent == NULL)
        die("out of memory");
    for (size_t r = 0; r < t->run->nranks; r++)
        t->sent[r] = alltoall_bytes(&t->run->ranks[r]);
}

int retarget_init(struct retarget *t, const struct program *program,
                  const struct weak_scaling *growth, struct hardware from, struct hardware to,
                  bool calibrate, int64_t scale, struct err *e)
{
    memset(t, 0, sizeof *t);
    t->run = program->run;
    t->program = program;
    t->growth = growth;
    t->from = from;
    t->to = to;
    t->calibrate = calibrate;
    t->scale = scale;
    place_comms(t);
    find_exchanges(t);
    t->link_ratio = link_ratio(from.gpu, to.gpu);
    t->graphs = calloc(t->run->nranks + 1, sizeof *t->graphs);
    if (t->graphs == NULL)
        die("out of memory");
    for (size_t r = 0; r < t->run->nranks; r++)
        graphs_init(&t->graphs[r], &t->run->ranks[r]);
    return other_ratios(t, e);
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

/* Measured time under the model's ratio; the model's own where nothing was measured. */
int64_t retarget_apply(struct retarget *t, int64_t measured_ns, struct modelled m)
{
    if (measured_ns == UNKNOWN_NS || !t->calibrate) {
        t->modelled++;
        return retarget_ns(m.to_us);
    }
    if (!(m.from_us > 0))
        return measured_ns;
    return retarget_ns((double)measured_ns / 1e3 * (m.to_us / m.from_us));
}

bool retarget_same_hardware(const struct retarget *t)
{
    return t->from.gpu == t->to.gpu && t->from.network == t->to.network;
}

/* The measured time stands as it is: no rounding, no model asked. */
bool retarget_untouched(const struct retarget *t, int64_t measured_ns, bool same)
{
    return measured_ns != UNKNOWN_NS && t->calibrate && same;
}

bool retarget_known_shape(const struct op *op)
{
    return op->class == OP_GEMM && op->gemm.m > 0 && op->gemm.n > 0 && op->gemm.k > 0 &&
           op->dtype != SPECTER_DTYPE_UNKNOWN;
}

bool retarget_is_divided(const struct retarget *t)
{
    return t->strong != NULL && t->scale > 1;
}

/* ---- by what rule ---- */

bool retarget_over_host_link(const struct op *op)
{
    enum specter_copy kind = copy_kind(op->name);
    return kind == SPECTER_COPY_H2D || kind == SPECTER_COPY_D2H;
}

static enum cost_rule rule_of(const struct retarget *t, const struct program_cost *cost,
                              const struct op *op)
{
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

enum cost_rule retarget_rule(const struct retarget *t, const struct program_cost *cost)
{
    if (cost->op == PROGRAM_NONE) /* kernels that no operation stands for */
        return COST_KERNEL;
    return rule_of(t, cost, &t->run->ranks[cost->rank].ops[cost->op]);
}

static uint32_t members(const struct retarget *t, const struct program_cost *cost)
{
    return cost->match == PROGRAM_NONE ? 1 : t->program->matches.list[cost->match].nmembers;
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
    if (cost_by_rule(t, rule, cost, op, ns, e) < 0)
        return -1;
    sum->count++;
    if (cost->measured_ns == UNKNOWN_NS)
        return 0;
    sum->timed++;
    sum->measured_ns += (double)cost->measured_ns * members(t, cost);
    sum->target_ns += (double)*ns * members(t, cost);
    return 0;
}

int retarget_set_costs(struct retarget *t, struct program *program, struct err *e)
{
    for (size_t i = 0; i < program->ncosts; i++) {
        int64_t ns;
        if (retarget_cost(t, &program->costs[i], &ns, e) < 0)
            return -1;
        program_set_cost(program, i, ns);
    }
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

/* SPDX-License-Identifier: MIT */
#include "sim/retarget.h"

#include "sim/exchange.h"
#include "sim/vary_link.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        t->from_where[c] = growth_recorded_layout(t->growth, (int)c, t->from.network);
        t->to_where[c] = growth_layout(t->growth, (int)c, t->to.network, t->scale);
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
    if (t->scale == 1 || !growth_exchanges(t->growth))
        return;
    t->sent = calloc(t->run->nranks, sizeof *t->sent);
    if (t->sent == NULL)
        die("out of memory");
    for (size_t r = 0; r < t->run->nranks; r++)
        t->sent[r] = exchange_bytes(&t->run->ranks[r]);
}

int retarget_init(struct retarget *t, const struct program *program, const struct growth *growth,
                  struct hardware from, struct hardware to, bool calibrate, int64_t scale,
                  struct err *e)
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
        graphs_make(&t->graphs[r], &t->run->ranks[r]);
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

/* What a model says of an operation, in us, on both kinds of hardware. */
struct modelled {
    double from_us, to_us;
};

static int64_t to_ns(double us)
{
    double ns = us * 1e3;
    return !(ns > 0) ? 0 : ns < (double)RUN_DUR_MAX ? llround(ns) : RUN_DUR_MAX;
}

/* Measured time under the model's ratio; the model's own where nothing was measured. */
static int64_t apply(struct retarget *t, int64_t measured_ns, struct modelled m)
{
    if (measured_ns == UNKNOWN_NS || !t->calibrate) {
        t->modelled++;
        return to_ns(m.to_us);
    }
    if (!(m.from_us > 0))
        return measured_ns;
    return to_ns((double)measured_ns / 1e3 * (m.to_us / m.from_us));
}

static bool same_hardware(const struct retarget *t)
{
    return t->from.gpu == t->to.gpu && t->from.network == t->to.network;
}

/* The measured time stands as it is: no rounding, no model asked. */
static bool untouched(const struct retarget *t, int64_t measured_ns, bool same)
{
    return measured_ns != UNKNOWN_NS && t->calibrate && same;
}

static bool known_shape(const struct op *op)
{
    return op->class == OP_GEMM && op->gemm.m > 0 && op->gemm.n > 0 && op->gemm.k > 0 &&
           op->dtype != SPECTER_DTYPE_UNKNOWN;
}

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

static int gemm_us(const struct gpu_profile *gpu, const struct op *op, double *us, struct err *e)
{
    return shape_us(gpu, shape_of(op), us, e);
}

bool retarget_memory_bound(const struct gpu_profile *gpu, const struct op *op)
{
    struct gemm_cost cost;
    struct gemm_shape shape = shape_of(op);
    struct err ignored;
    return known_shape(op) && model_gemm(gpu, &shape, &cost, &ignored) == 0 &&
           strcmp(cost.bound, "memory") == 0;
}

int retarget_divide(struct retarget *t, const struct strong *strong, struct err *e)
{
    const struct gemm_shape smallest = {.m = 1, .n = 1, .k = 1, .type = SPECTER_FP16};
    t->strong = strong;
    return shape_us(t->to.gpu, smallest, &t->least_us, e);
}

static bool is_divided(const struct retarget *t)
{
    return t->strong != NULL && t->scale > 1;
}

static int cost_gemm(struct retarget *t, const struct op *op, int64_t measured_ns, int64_t *ns,
                     struct err *e)
{
    struct gemm_shape left = shape_of(op);
    struct modelled m;
    if (untouched(t, measured_ns, t->from.gpu == t->to.gpu && !is_divided(t))) {
        *ns = measured_ns;
        return 0;
    }
    if (shape_us(t->from.gpu, shape_of(op), &m.from_us, e) < 0)
        return -1;
    if (is_divided(t))
        strong_divide(t->strong, op, t->scale, &left);
    if (shape_us(t->to.gpu, left, &m.to_us, e) < 0)
        return -1;
    *ns = apply(t, measured_ns, m);
    return 0;
}

/* Do both ends of a send sit on different nodes, on that side? */
static bool across_nodes(const struct retarget *t, const struct rank *rank, const struct op *op,
                         const struct network_profile *net, const struct layout *where)
{
    uint32_t r = (uint32_t)(rank - t->run->ranks), i = (uint32_t)(op - rank->ops);
    if (where == t->from_where)
        return growth_recorded_across(t->growth, r, i, net);
    return growth_across(t->growth, r, i, net, t->scale);
}

/* `what` and bytes are those of the transfer, which op may not tell itself. */
static int price_transfer(const struct retarget *t, const struct rank *rank, const struct op *op,
                          enum specter_comm_op what, double bytes, struct hardware on,
                          const struct layout *where, struct comm_cost *price, struct err *e)
{
    struct layout at = where[op->coll.comm];
    bool p2p = specter_comm_op_is_p2p(what);
    bool across = p2p ? across_nodes(t, rank, op, on.network, where) : at.nodes > 1;
    double slow = where == t->to_where && across ? vary_link_slowness(t, rank, op, p2p) : 1;
    int rc = p2p ? model_p2p(on.gpu, on.network, bytes, across, price, e)
                 : model_collective(on.gpu, on.network, what, bytes, at, price, e);
    return rc == 0 && slow > 1 ? vary_link_price(on, what, bytes, at, slow, price, e) : rc;
}

static int transfer_us(const struct retarget *t, const struct rank *rank, const struct op *op,
                       enum specter_comm_op what, double bytes, struct hardware on,
                       const struct layout *where, double *us, struct err *e)
{
    struct comm_cost price;
    if (price_transfer(t, rank, op, what, bytes, on, where, &price, e) < 0)
        return -1;
    *us = price.us;
    return 0;
}

/* A message of an all-to-all that gets more members. */
static bool is_exchange(const struct retarget *t, const struct program_cost *cost)
{
    int comm = t->program->matches.list[cost->match].comm;
    return t->sent != NULL && t->growth->grid->comms[comm].by_messages &&
           growth_grows(t->growth, comm) && t->sent[cost->rank][cost->op] > 0;
}

/* As the all-to-all that it is part of: each rank sends as much as before, to more members. */
static int exchange_us(const struct retarget *t, const struct program_cost *cost,
                       struct hardware on, const struct layout *where, double *us, struct err *e)
{
    struct comm_cost price;
    if (model_collective(on.gpu, on.network, SPECTER_ALLTOALLV,
                         (double)t->sent[cost->rank][cost->op],
                         where[t->program->matches.list[cost->match].comm], &price, e) < 0)
        return -1;
    *us = price.us;
    return 0;
}

/* Of a divided batch it carries a part. */
static bool carries_less(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    return is_divided(t) && strong_divides(t->strong, match->comm, (enum specter_comm_op)match->op,
                                           match->bytes, (enum specter_dtype)match->dtype);
}

static int comm_us(const struct retarget *t, const struct program_cost *cost, struct hardware on,
                   const struct layout *where, double *us, struct err *e)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    double bytes = (double)match->bytes;
    if (is_exchange(t, cost))
        return exchange_us(t, cost, on, where, us, e);
    if (where == t->to_where && carries_less(t, cost))
        bytes /= (double)t->scale;
    return transfer_us(t, rank, &rank->ops[cost->op], (enum specter_comm_op)match->op, bytes, on,
                       where, us, e);
}

/* Ranks whose device is busy with it. */
static uint32_t members(const struct retarget *t, const struct program_cost *cost)
{
    return cost->match == PROGRAM_NONE ? 1 : t->program->matches.list[cost->match].nmembers;
}

static bool known_transfer(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match;
    if (cost->match == PROGRAM_NONE)
        return false;
    match = &t->program->matches.list[cost->match];
    if (match->op >= SPECTER_COMM_OP_COUNT || t->run->comms[match->comm].size == 0)
        return false;
    return match->bytes > 0 || !(t->run->ranks[cost->rank].ops[cost->op].flags & OP_BYTES_UNKNOWN);
}

/* What one rank alone was measured at is no transfer: a ratio to it means nothing. */
static int grow_from_one(struct retarget *t, const struct program_cost *cost, int64_t *ns,
                         struct err *e)
{
    double us;
    if (comm_us(t, cost, t->to, t->to_where, &us, e) < 0)
        return -1;
    *ns = to_ns(us);
    return 0;
}

/* Are its members others, or elsewhere? */
static bool has_moved(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct layout *from = &t->from_where[match->comm], *to = &t->to_where[match->comm];
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct op *op = &rank->ops[cost->op];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op) && !is_exchange(t, cost))
        return across_nodes(t, rank, op, t->from.network, t->from_where) !=
               across_nodes(t, rank, op, t->to.network, t->to_where);
    return from->ranks != to->ranks || from->nodes != to->nodes || from->per_node != to->per_node;
}

static int cost_comm(struct retarget *t, const struct program_cost *cost, int64_t *ns,
                     struct err *e)
{
    int comm = t->program->matches.list[cost->match].comm;
    bool grown = has_moved(t, cost) || carries_less(t, cost);
    bool slow = vary_link_met(t, cost);
    struct modelled m;
    t->slowed += slow;
    if (untouched(t, cost->measured_ns, same_hardware(t) && !grown && !slow)) {
        *ns = cost->measured_ns;
        return 0;
    }
    if (t->run->comms[comm].size == 1 && t->to_where[comm].ranks > 1)
        return grow_from_one(t, cost, ns, e);
    if (comm_us(t, cost, t->from, t->from_where, &m.from_us, e) < 0)
        return err_prefix(e, "the hardware of the recording (see --from-network)");
    if (comm_us(t, cost, t->to, t->to_where, &m.to_us, e) < 0)
        return -1;
    *ns = apply(t, cost->measured_ns, m);
    return 0;
}

/* ---- graphs ---- */

/* What the models know of a graph, on both kinds of hardware. */
static int price_part(const struct retarget *t, const struct rank *rank, const struct op *op,
                      struct modelled *part, struct err *e)
{
    enum specter_comm_op what = (enum specter_comm_op)op->coll.op;
    bool comm = (op->class == OP_COLL || op->class == OP_P2P) && what < SPECTER_COMM_OP_COUNT &&
                op->coll.comm >= 0 && t->run->comms[op->coll.comm].size > 0 &&
                !(op->flags & OP_BYTES_UNKNOWN);
    *part = (struct modelled){0, 0};
    if (known_shape(op))
        return gemm_us(t->from.gpu, op, &part->from_us, e) < 0
                   ? -1
                   : gemm_us(t->to.gpu, op, &part->to_us, e);
    if (!comm)
        return 0;
    if (transfer_us(t, rank, op, what, (double)op->bytes, t->from, t->from_where, &part->from_us,
                    e) < 0)
        return -1;
    return transfer_us(t, rank, op, what, (double)op->bytes, t->to, t->to_where, &part->to_us, e);
}

/* The measured time is shared out: to what the models know, as long as they say it takes, or all of
 * it when that is more; the rest is other kernels. Each part is scaled by its own ratio. */
static int cost_graph(struct retarget *t, const struct program_cost *cost, const struct op *op,
                      int64_t *ns, struct err *e)
{
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct graph *what = graphs_find(&t->graphs[cost->rank], op->graph);
    struct modelled all = {0, 0}, part;
    double measured_us = (double)cost->measured_ns / 1e3, rest_us, share = 1;
    *ns = cost->measured_ns;
    if (same_hardware(t) && t->scale == 1 && t->slow_link == NULL)
        return 0;
    for (size_t i = 0; what != NULL && i < what->nops; i++) {
        if (price_part(t, rank, &rank->ops[what->ops[i]], &part, e) < 0)
            return -1;
        all.from_us += part.from_us;
        all.to_us += part.to_us;
    }
    rest_us = measured_us - all.from_us;
    if (rest_us < 0) {
        share = measured_us / all.from_us;
        rest_us = 0;
    }
    if (t->from.gpu != t->to.gpu)
        rest_us *= t->other_ratio[SPECTER_KERNEL_OTHER];
    *ns = to_ns(all.to_us * share + rest_us);
    return 0;
}

/* ---- by what rule ---- */

bool retarget_over_host_link(const struct op *op)
{
    static const char *const words[] = {
        "HtoD",           "DtoH",           "HostToDevice", "DeviceToHost",
        "Host-to-Device", "Device-to-Host", "h2d",          "d2h"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(op->name, words[i]) != NULL)
            return true;
    }
    return false;
}

static enum cost_rule rule_of(const struct retarget *t, const struct program_cost *cost,
                              const struct op *op)
{
    if (known_shape(op))
        return COST_GEMM;
    if (known_transfer(t, cost))
        return COST_COMM;
    if (cost->measured_ns == UNKNOWN_NS)
        return op->class == OP_MEMORY && op->timing == SPECTER_TIMING_HOST ? COST_SMALL : COST_NONE;
    if (op->class == OP_GRAPH)
        return COST_GRAPH;
    if (op->class == OP_MEMORY)
        return retarget_over_host_link(op) ? COST_LINK : COST_MEMORY;
    return op->class == OP_KERNEL || op->class == OP_GEMM ? COST_KERNEL : COST_KEPT;
}

static enum specter_kernel_class kind_of(const struct op *op)
{
    return op->class == OP_GEMM ? SPECTER_KERNEL_GEMM : specter_kernel_class_of(op->name);
}

/* Of kernels that were counted: the time is taken as spread evenly over them. */
static double mixed_ratio(const struct retarget *t, const struct program_cost *cost)
{
    double sum = 0, all = 0;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++) {
        sum += (double)cost->classes[kind] * t->other_ratio[kind];
        all += (double)cost->classes[kind];
    }
    return all > 0 ? sum / all : t->other_ratio[SPECTER_KERNEL_OTHER];
}

static int64_t scaled(const struct retarget *t, int64_t measured_ns, double ratio)
{
    return t->from.gpu == t->to.gpu ? measured_ns : to_ns((double)measured_ns / 1e3 * ratio);
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

/* What is left of kernels where the batch is divided, by their classes; and how much of the time
 * nobody knows the part of. */
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
        sum += strong_kernel_ns((enum specter_kernel_class)kind, n / all * ns,
                                n * t->least_us * 1e3, t->scale);
    }
    return all > 0 ? sum : ns;
}

/* By the ratio of their class; what of them is the optimizer's work on a shard shrinks with it. */
static int64_t cost_kernel(struct retarget *t, const struct program_cost *cost, const struct op *op)
{
    double ratio = op == NULL ? mixed_ratio(t, cost) : t->other_ratio[kind_of(op)];
    double share = growth_shards(t->growth) ? optimizer_share(cost, op) : 0;
    int64_t ns = scaled(t, cost->measured_ns, ratio);
    if (t->strong != NULL)
        ns = to_ns(divided_ns(t, cost, op, (double)ns) / 1e3);
    if (!(share > 0))
        return ns;
    t->shard_ns += share * (double)cost->measured_ns;
    if (t->scale == 1)
        return ns;
    return to_ns((double)ns / 1e3 * (1 - share + share / (double)t->scale));
}

enum cost_rule retarget_rule(const struct retarget *t, const struct program_cost *cost)
{
    if (cost->op == PROGRAM_NONE) /* kernels that no operation stands for */
        return COST_KERNEL;
    return rule_of(t, cost, &t->run->ranks[cost->rank].ops[cost->op]);
}

/* A memset clears gradients, whose size stays. */
static int64_t cost_memory(const struct retarget *t, const struct op *op, int64_t measured_ns)
{
    int64_t ns = scaled(t, measured_ns, t->other_ratio[SPECTER_KERNEL_COPY]);
    if (!is_divided(t) || strcasestr(op->name, "memset") != NULL)
        return ns;
    return to_ns(strong_kernel_ns(SPECTER_KERNEL_COPY, (double)ns, t->least_us * 1e3, t->scale) /
                 1e3);
}

int retarget_cost(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e)
{
    const struct op *op =
        cost->op == PROGRAM_NONE ? NULL : &t->run->ranks[cost->rank].ops[cost->op];
    enum cost_rule rule = retarget_rule(t, cost);
    t->count[rule]++;
    if (cost->measured_ns != UNKNOWN_NS)
        t->device_ns[rule] += (double)cost->measured_ns * members(t, cost);
    switch (rule) {
    case COST_GEMM:
        return cost_gemm(t, op, cost->measured_ns, ns, e);
    case COST_COMM:
        return cost_comm(t, cost, ns, e);
    case COST_GRAPH:
        return cost_graph(t, cost, op, ns, e);
    case COST_MEMORY:
        *ns = cost_memory(t, op, cost->measured_ns);
        return 0;
    case COST_KERNEL:
        *ns = cost_kernel(t, cost, op);
        return 0;
    case COST_LINK:
        *ns = scaled(t, cost->measured_ns, t->link_ratio);
        return 0;
    default:
        *ns = rule == COST_KEPT ? cost->measured_ns : 0;
        return 0;
    }
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

bool retarget_price(const struct retarget *t, const struct program_cost *cost,
                    struct comm_cost *price)
{
    const struct match *match;
    const struct rank *rank = &t->run->ranks[cost->rank];
    struct err ignored;
    if (!known_transfer(t, cost))
        return false;
    match = &t->program->matches.list[cost->match];
    return price_transfer(t, rank, &rank->ops[cost->op], (enum specter_comm_op)match->op,
                          (double)match->bytes, t->to, t->to_where, price, &ignored) == 0;
}

int retarget_members(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op))
        return 2;
    return t->to_where[match->comm].ranks;
}

double retarget_unmodelled(const struct retarget *t)
{
    double all_ns = 0;
    for (int rule = 0; rule < COST_RULES; rule++)
        all_ns += t->device_ns[rule];
    return all_ns > 0
               ? (t->device_ns[COST_KERNEL] + t->device_ns[COST_KEPT] + t->device_ns[COST_GRAPH]) /
                     all_ns
               : 0;
}

double retarget_untold(const struct retarget *t)
{
    double all_ns = 0;
    for (int rule = 0; rule < COST_RULES; rule++)
        all_ns += t->device_ns[rule];
    return all_ns > 0 ? (t->untold_ns + t->device_ns[COST_KEPT] + t->device_ns[COST_GRAPH]) / all_ns
                      : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * specter predict collective: one operation, or many over sizes and numbers of ranks.
 */
#include "cmd/predict.h"
#include "model/bound.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct collective_opts {
    const char *gpu, *network, *op, *bytes, *dtype;
    struct opt_bytes step;
    struct opt_list ranks; /* values owned */
    int64_t nodes, per_node;
    double factor;
    bool json;
};

#define AT(field) offsetof(struct collective_opts, field)

static const struct opt rows[] = {
    {"op", 0, OPT_STR, AT(op), "OP", "all_reduce, all_gather, reduce_scatter, alltoall, ..."},
    {"bytes", 0, OPT_STR, AT(bytes), "SIZE",
     "full buffer as nccl-tests counts it, or a sweep: 1K:8G"},
    {"factor", 0, OPT_DOUBLE, AT(factor), "F", "a sweep's next size; default 2"},
    {"step", 0, OPT_BYTES, AT(step), "SIZE", "instead: so many bytes more"},
    {"ranks", 0, OPT_LIST, AT(ranks), "N", "GPUs that take part, filling node after node; 8,16,32"},
    {"nodes", 0, OPT_I64, AT(nodes), "N", "spread evenly over so many nodes"},
    {"gpus-per-node", 0, OPT_I64, AT(per_node), "N", "so many ranks on each node"},
    {"dtype", 0, OPT_STR, AT(dtype), "TYPE", "for counts in a sweep's table; default fp32"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME", "GPU profile; default " GPU_PROFILE_DEFAULT},
    {"network", 0, OPT_STR, AT(network), "NAME", "network profile; default: the GPU's"},
    {"json", 0, OPT_FLAG, AT(json), NULL, "print JSON; of several results, an array"},
    OPT_END,
};

/* What is asked, checked. */
struct question {
    const struct collective_opts *opts;
    enum specter_comm_op op;
    enum specter_dtype type;
    struct predict_sizes sizes;
    struct predict_target on;
};

static int parse_op(const char *text, enum specter_comm_op *op, struct err *e)
{
    if (text == NULL)
        return predict_missing("--op", e);
    *op = specter_comm_op_parse(text, strlen(text));
    if (*op == SPECTER_COMM_OP_COUNT)
        return err_set(e, ERR_USAGE,
                       "--op: unknown operation '%.64s'; known are all_reduce, all_gather, "
                       "reduce_scatter, alltoall, alltoallv, broadcast, reduce, gather, scatter",
                       text);
    if (specter_comm_op_is_p2p(*op))
        return err_set(e, ERR_USAGE, "--op: %s is no collective (see 'specter predict p2p')",
                       specter_comm_op_name(*op));
    return 0;
}

static int check_number(const char *option, int64_t value, struct err *e)
{
    if (value >= 1 && value <= INT_MAX)
        return 0;
    return err_set(e, ERR_USAGE, "%s: %lld is out of range", option, (long long)value);
}

static int check_ranks(const struct collective_opts *o, struct err *e)
{
    if (o->ranks.count == 0)
        return predict_missing("--ranks", e);
    for (size_t i = 0; i < o->ranks.count; i++) {
        if (check_number("--ranks", o->ranks.values[i], e) < 0)
            return -1;
    }
    if (o->nodes != PREDICT_NO_NUMBER && check_number("--nodes", o->nodes, e) < 0)
        return -1;
    if (o->per_node != PREDICT_NO_NUMBER && check_number("--gpus-per-node", o->per_node, e) < 0)
        return -1;
    return 0;
}

static int parse_type(const char *text, enum specter_dtype *type, struct err *e)
{
    *type = specter_dtype_parse(text, strlen(text));
    if (*type == SPECTER_DTYPE_UNKNOWN)
        return err_set(e, ERR_USAGE, "--dtype: unknown type '%.64s'", text);
    return 0;
}

static int parse(const struct collective_opts *o, struct question *q, struct err *e)
{
    *q = (struct question){.opts = o};
    if (parse_op(o->op, &q->op, e) < 0 ||
        predict_sizes_parse(o->bytes, o->factor, o->step, &q->sizes, e) < 0 ||
        check_ranks(o, e) < 0 || parse_type(o->dtype, &q->type, e) < 0)
        return -1;
    return predict_find_hardware(o->gpu, o->network, &q->on, e);
}

static int ceil_div(int64_t a, int64_t b)
{
    return (int)(a / b + (a % b != 0));
}

/* Node after node, unless it is said how many nodes there are or how many ranks each has. */
static struct layout layout_of(const struct question *q, int64_t ranks)
{
    int64_t nodes = q->opts->nodes, per_node = q->opts->per_node;
    if (nodes == PREDICT_NO_NUMBER && per_node == PREDICT_NO_NUMBER)
        return layout_dense(q->on.net, (int)ranks);
    if (per_node == PREDICT_NO_NUMBER)
        per_node = ceil_div(ranks, nodes);
    if (nodes == PREDICT_NO_NUMBER)
        nodes = ceil_div(ranks, per_node);
    return (struct layout){(int)ranks, (int)nodes, (int)(per_node < ranks ? per_node : ranks)};
}

static int answer(const struct question *q, int64_t ranks, uint64_t bytes,
                  struct predict_transfer *t, struct err *e)
{
    *t = (struct predict_transfer){
        .on = &q->on, .op = q->op, .bytes = (double)bytes, .where = layout_of(q, ranks)};
    if (model_collective(q->on.gpu, q->on.net, q->op, t->bytes, t->where, &t->cost, e) < 0)
        return -1;
    t->bound_us =
        comm_bound(q->on.gpu, q->on.net, q->op, t->bytes, t->where, comm_in_switch(t->cost.algo))
            .us;
    return 0;
}

static int print_one(const struct question *q, struct err *e)
{
    struct predict_transfer t;
    if (answer(q, q->opts->ranks.values[0], q->sizes.first, &t, e) < 0)
        return -1;
    if (q->opts->json)
        return cmd_write_json(predict_transfer_json(&t), "-", e);
    predict_print_title(&t);
    predict_print_transfer(&t);
    predict_print_assumptions(model_comm_assumptions);
    return 0;
}

/* Every layout is asked for once before anything is printed. */
static int check_layouts(const struct question *q, struct err *e)
{
    struct predict_transfer t;
    for (size_t i = 0; i < q->opts->ranks.count; i++) {
        if (answer(q, q->opts->ranks.values[i], q->sizes.first, &t, e) < 0)
            return -1;
    }
    return 0;
}

static int put_sizes(const struct question *q, int64_t ranks, struct predict_rows *r, struct err *e)
{
    for (uint64_t b = q->sizes.first; b <= q->sizes.last; b = predict_sizes_next(&q->sizes, b)) {
        struct predict_transfer t;
        if (answer(q, ranks, b, &t, e) < 0)
            return -1;
        predict_rows_put(r, &t, b == q->sizes.first);
    }
    return 0;
}

static int print_many(const struct question *q, struct err *e)
{
    const struct opt_list *ranks = &q->opts->ranks;
    struct predict_rows r;
    if (check_layouts(q, e) < 0)
        return -1;
    predict_rows_init(&r, q->type, q->opts->json);
    for (size_t i = 0; i < ranks->count; i++) {
        if (put_sizes(q, ranks->values[i], &r, e) < 0)
            return -1;
    }
    return predict_rows_end(&r, e);
}

static int predict(const struct collective_opts *o, struct err *e)
{
    struct question q;
    if (parse(o, &q, e) < 0)
        return -1;
    return q.sizes.sweep || o->ranks.count > 1 ? print_many(&q, e) : print_one(&q, e);
}

static int run(const struct command *self, int argc, char **argv, struct err *e)
{
    struct collective_opts o = {
        .nodes = PREDICT_NO_NUMBER, .per_node = PREDICT_NO_NUMBER, .factor = 2, .dtype = "fp32"};
    int status = predict_parse(self, &o, argc, argv, e);
    if (status < 0)
        status = predict(&o, e) < 0 ? (int)e->code : 0;
    free(o.ranks.values);
    return status;
}

const struct predict_kind predict_collective = {
    .name = "collective",
    .command = {.name = "predict",
                .synopsis = "predict collective --op OP --bytes SIZE[:SIZE] --ranks N[,N...] "
                            "[--nodes N] [--gpus-per-node N] [--gpu NAME] [--network NAME] "
                            "[--json]",
                .summary = "predict one collective operation",
                .rows = rows},
    .run = run,
};

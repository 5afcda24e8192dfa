/* SPDX-License-Identifier: MIT
 *
 * specter predict collective: one operation, or many over sizes and numbers of ranks.
 */
#include "cmd/predict.h"
#include "model/cost.h"
#include "model/nccl_tuner.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forced choices, read as NCCL reads NCCL_ALGO and NCCL_PROTO ---- */

/* The names in --proto or --algo; NULL: not given. */
static int check_names(bool protos, const char *text, struct err *e)
{
    const struct nccl_name *names = protos ? nccl_protos : nccl_algos;
    const char *option = protos ? "--proto" : "--algo", *unknown = NULL;
    int count = protos ? NCCL_PROTOS : NCCL_ALGOS;
    char known[128] = "";
    unsigned bits = 0;
    size_t len;
    if (text == NULL)
        return 0;
    unknown = nccl_list_parse(text, protos ? nccl_proto_parse : nccl_algo_parse, count, &bits);
    if (unknown == NULL && bits == 0)
        return err_set(e, ERR_USAGE, "%s: '%s' leaves nothing", option, text);
    if (unknown == NULL)
        return 0;
    for (int i = 0; i < count; i++) {
        strcat(known, i > 0 ? ", " : "");
        strcat(known, names[i].name);
    }
    len = strcspn(unknown, ",");
    return err_set(e, ERR_USAGE, "%s: unknown name '%.*s'; known are %s", option,
                   (int)(len < 64 ? len : 64), unknown, known);
}

/* ---- the command line ---- */

struct predict_collective_opts {
    const char *gpu, *network, *op, *bytes, *dtype, *algo, *proto, *nccl;
    struct opt_bytes step;
    struct opt_list ranks; /* values owned */
    int64_t nodes, per_node, channels;
    double factor;
    bool explain, json;
};

#define AT(field) offsetof(struct predict_collective_opts, field)

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
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default " GPU_PROFILE_DEFAULT},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "network profile; default: the GPU's"},
    {"algo", 0, OPT_STR, AT(algo), "NAMES", "only these, as NCCL_ALGO: ring,tree or ^nvls"},
    {"proto", 0, OPT_STR, AT(proto), "NAMES", "only these, as NCCL_PROTO: LL, LL128, Simple"},
    {"nccl", 0, OPT_STR, AT(nccl), "VERSION", "2.19 to 2.30; default: the network's, or 2.30"},
    {"channels", 0, OPT_I64, AT(channels), "N", "as NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS"},
    {"explain", 0, OPT_FLAG, AT(explain), NULL, "every way to do it, and where the choice changes"},
    {"json", 0, OPT_FLAG, AT(json), NULL, "print JSON; of several results, an array"},
    OPT_END,
};

/* The command line, checked. */
struct collective_question {
    const struct predict_collective_opts *opts;
    enum specter_comm_op op;
    enum specter_dtype type;
    struct predict_sizes sizes;
    struct comm_choice forced;
    struct profile_pair on;
    struct network_profile network; /* on.network, where --nccl names another version than it has */
};

/* Of a question, the part with so many ranks. */
struct ranks_question {
    const struct collective_question *q;
    int64_t ranks;
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

static int check_ranks(const struct predict_collective_opts *o, struct err *e)
{
    const struct {
        const char *option;
        int64_t value;
    } given[] = {
        {"--nodes", o->nodes}, {"--channels", o->channels}, {"--gpus-per-node", o->per_node}};
    if (o->ranks.count == 0)
        return predict_missing("--ranks", e);
    for (size_t i = 0; i < o->ranks.count; i++) {
        if (check_number("--ranks", o->ranks.values[i], e) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i].value != PREDICT_NO_NUMBER &&
            check_number(given[i].option, given[i].value, e) < 0)
            return -1;
    }
    return 0;
}

static int parse(const struct predict_collective_opts *o, struct arena *a,
                 struct collective_question *q, struct err *e)
{
    int nccl;
    *q = (struct collective_question){.opts = o, .forced = {o->algo, o->proto, 0}};
    if (parse_op(o->op, &q->op, e) < 0 ||
        predict_sizes_parse(o->bytes, o->factor, o->step, &q->sizes, e) < 0 ||
        check_ranks(o, e) < 0 || predict_dtype("--dtype", o->dtype, &q->type, e) < 0 ||
        check_names(false, o->algo, e) < 0 || check_names(true, o->proto, e) < 0)
        return -1;
    if (o->channels != PREDICT_NO_NUMBER)
        q->forced.channels = (int)o->channels;
    if (cmd_target(o->gpu, o->network, true, a, &q->on, e) < 0 || cmd_nccl(o->nccl, &nccl, e) < 0)
        return -1;
    if (nccl != 0 && q->on.gpu->cc == 0)
        return cmd_nccl_is_rccl(q->on.gpu, e);
    q->on.network = network_with_nccl(q->on.network, nccl, &q->network);
    return 0;
}

/* Node after node, unless it is said how many nodes there are or how many ranks each has. */
static struct layout layout_of(const struct collective_question *q, int64_t ranks)
{
    int64_t nodes = q->opts->nodes, per_node = q->opts->per_node;
    if (nodes == PREDICT_NO_NUMBER && per_node == PREDICT_NO_NUMBER)
        return layout_dense(q->on.network, (int)ranks);
    if (per_node == PREDICT_NO_NUMBER)
        per_node = ranks / nodes + (ranks % nodes != 0);
    if (nodes == PREDICT_NO_NUMBER)
        nodes = ranks / per_node + (ranks % per_node != 0);
    return (struct layout){(int)ranks, (int)nodes, (int)(per_node < ranks ? per_node : ranks)};
}

static int answer(const struct ranks_question *part, uint64_t bytes, struct predict_transfer *t,
                  struct err *e)
{
    const struct collective_question *q = part->q;
    const struct profile_pair *on = &q->on;
    *t = (struct predict_transfer){
        .on = on, .op = q->op, .bytes = (double)bytes, .where = layout_of(q, part->ranks)};
    /* A single named way is done even where NCCL would not think of it by itself, if it can be done
     * at all. */
    if (model_collective_as(on->gpu, on->network, q->op, t->bytes, t->where, &q->forced, &t->cost,
                            e) < 0)
        return -1;
    t->bound_us =
        comm_bound(on->gpu, on->network, q->op, t->bytes, t->where, comm_in_switch(t->cost.algo))
            .us;
    return 0;
}

static int answer_part(const void *part, uint64_t bytes, struct predict_transfer *t, struct err *e)
{
    return answer(part, bytes, t, e);
}

/* ---- one answer ---- */

#define JUMPS_LAST ((uint64_t)1 << 36) /* 64 GiB */

static int print_one(const struct collective_question *q, struct err *e)
{
    const struct ranks_question part = {q, q->opts->ranks.values[0]};
    const struct predict_ask ask = {answer_part, &part};
    const bool explain = q->opts->explain;
    struct predict_transfer t;
    cJSON *doc;
    if (answer(&part, q->sizes.first, &t, e) < 0)
        return -1;
    if (q->opts->json) {
        doc = predict_transfer_json(&t);
        if (!explain || (predict_add_candidates(doc, &t, e) == 0 &&
                         predict_add_jumps(doc, &ask, 1, JUMPS_LAST, e) == 0))
            return cmd_write_json(doc, "-", e);
        cJSON_Delete(doc);
        return -1;
    }
    predict_print_title(&t);
    predict_print_transfer(&t);
    if (explain) {
        if (predict_print_candidates(&t, e) < 0)
            return -1;
        puts("\nwhere the choice changes, from 1 B to 64 GiB");
        if (predict_print_jumps(&ask, 1, JUMPS_LAST, "  ", e) < 0)
            return -1;
    }
    predict_print_assumptions(model_comm_assumptions, explain);
    return 0;
}

/* ---- many answers ---- */

static int put_sizes(const struct ranks_question *part, struct predict_rows *r, struct err *e)
{
    const struct predict_sizes *s = &part->q->sizes;
    const struct predict_ask ask = {answer_part, part};
    for (uint64_t b = s->first; b <= s->last; b = predict_sizes_next(s, b)) {
        struct predict_transfer t;
        if (answer(part, b, &t, e) < 0 || predict_rows_put(r, &t, b == s->first, e) < 0)
            return -1;
    }
    if (r->array != NULL || !r->explain)
        return 0;
    return predict_print_jumps(&ask, s->first, s->last, "# ", e);
}

static int print_many(const struct collective_question *q, struct err *e)
{
    const struct opt_list *ranks = &q->opts->ranks;
    struct predict_rows r;
    /* Every layout is asked for once before anything is printed. */
    for (size_t i = 0; i < ranks->count; i++) {
        const struct ranks_question part = {q, ranks->values[i]};
        struct predict_transfer t;
        if (answer(&part, q->sizes.first, &t, e) < 0)
            return -1;
    }
    predict_rows_init(&r, q->type, q->opts->explain, q->opts->json);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct ranks_question part = {q, ranks->values[i]};
        if (put_sizes(&part, &r, e) < 0) {
            predict_rows_drop(&r);
            return -1;
        }
    }
    return predict_rows_end(&r, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct predict_collective_opts o = {.nodes = PREDICT_NO_NUMBER,
                                        .per_node = PREDICT_NO_NUMBER,
                                        .channels = PREDICT_NO_NUMBER,
                                        .factor = 2,
                                        .dtype = "fp32"};
    struct collective_question q;
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status == 0) {
        status = parse(&o, a, &q, e);
        if (status == 0)
            status = q.sizes.sweep || o.ranks.count > 1 ? print_many(&q, e) : print_one(&q, e);
        if (status < 0)
            status = (int)e->code;
    }
    free(o.ranks.values);
    return status;
}

const struct cmd_kind predict_collective = {
    .name = "collective",
    .command = {.name = "predict",
                .synopsis =
                    "predict collective --op OP --bytes SIZE[:SIZE] --ranks N[,N...]" SYNOPSIS_ALL,
                .summary = "predict one collective operation",
                .rows = rows},
    .run = run,
};

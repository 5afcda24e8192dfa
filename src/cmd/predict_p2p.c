/* SPDX-License-Identifier: MIT
 *
 * specter predict p2p: messages between GPUs.
 */
#include "cmd/predict.h"
#include "model/cost.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>

struct predict_p2p_opts {
    const char *gpu, *network, *bytes, *direction;
    struct opt_bytes step;
    int64_t flows, ranks;
    double factor;
    bool across, explain, json;
};

#define AT(field) offsetof(struct predict_p2p_opts, field)

static const struct opt rows[] = {
    {"bytes", 0, OPT_STR, AT(bytes), "SIZE", "size of the message, or a sweep: 1K:8G"},
    {"factor", 0, OPT_DOUBLE, AT(factor), "F", "a sweep's next size; default 2"},
    {"step", 0, OPT_BYTES, AT(step), "SIZE", "instead: so many bytes more"},
    {"across", 0, OPT_FLAG, AT(across), NULL, "between two nodes, not within one"},
    {"direction", 0, OPT_STR, AT(direction), "WAY",
     "one_way, both (at once), or all: each GPU to every other; default one_way"},
    {"ranks", 0, OPT_I64, AT(ranks), "N", "of all; default: all GPUs of the node, or of both"},
    {"flows", 0, OPT_I64, AT(flows), "N", "GPUs of the node that send at once; default 1"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default " GPU_PROFILE_DEFAULT},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "network profile; default: the GPU's"},
    {"explain", 0, OPT_FLAG, AT(explain), NULL, "the sizes at which the protocol changes"},
    {"json", 0, OPT_FLAG, AT(json), NULL, "print JSON; of several results, an array"},
    OPT_END,
};

/* The command line, checked. */
struct p2p_question {
    const struct predict_p2p_opts *opts;
    struct predict_sizes sizes;
    struct profile_pair on;
    struct comm_messages messages;
};

/* `question` is a struct p2p_question. */
static int answer(const void *question, uint64_t bytes, struct predict_transfer *t, struct err *e)
{
    const struct p2p_question *q = question;
    const struct profile_pair *on = &q->on;
    const struct comm_messages *m = &q->messages;
    bool across = q->opts->across;
    *t = (struct predict_transfer){.on = on,
                                   .op = SPECTER_SEND,
                                   .across = across,
                                   .direction = m->direction,
                                   .flows = m->flows,
                                   .bytes = (double)bytes,
                                   .where = m->where};
    if (model_messages(on->gpu, on->network, t->bytes, m, &t->cost, e) < 0)
        return -1;
    if (m->direction == COMM_ALL_PAIRS) /* what an AlltoAll moves */
        t->bound_us = comm_bound(on->gpu, on->network, SPECTER_ALLTOALL, t->bytes * m->where.ranks,
                                 m->where, false)
                          .us;
    else
        t->bound_us = comm_bound_p2p(on->gpu, on->network, t->bytes, across, m->flows).us;
    return 0;
}

/* ---- one answer ---- */

#define JUMPS_LAST ((uint64_t)1 << 36) /* 64 GiB */

static int print_one(const struct p2p_question *q, struct err *e)
{
    const struct predict_ask ask = {answer, q};
    struct predict_transfer t;
    cJSON *doc;
    if (answer(q, q->sizes.first, &t, e) < 0)
        return -1;
    if (q->opts->json) {
        doc = predict_transfer_json(&t);
        if (!q->opts->explain || predict_add_jumps(doc, &ask, 1, JUMPS_LAST, e) == 0)
            return cmd_write_json(doc, "-", e);
        cJSON_Delete(doc);
        return -1;
    }
    predict_print_title(&t);
    predict_print_transfer(&t);
    if (q->opts->explain) {
        puts("\nwhere the choice changes, from 1 B to 64 GiB");
        if (predict_print_jumps(&ask, 1, JUMPS_LAST, "  ", e) < 0)
            return -1;
    }
    predict_print_assumptions(model_comm_assumptions, q->opts->explain);
    return 0;
}

/* ---- many answers ---- */

static int print_many(const struct p2p_question *q, struct err *e)
{
    const struct predict_sizes *s = &q->sizes;
    const struct predict_ask ask = {answer, q};
    struct predict_transfer t;
    struct predict_rows r;
    if (answer(q, s->first, &t, e) < 0)
        return -1;
    predict_rows_init(&r, SPECTER_FP32, q->opts->explain && !q->opts->json, q->opts->json);
    for (uint64_t b = s->first; b <= s->last; b = predict_sizes_next(s, b)) {
        if (answer(q, b, &t, e) < 0 || predict_rows_put(&r, &t, b == s->first, e) < 0) {
            predict_rows_drop(&r);
            return -1;
        }
    }
    if (q->opts->explain && !q->opts->json &&
        predict_print_jumps(&ask, s->first, s->last, "# ", e) < 0)
        return -1;
    return predict_rows_end(&r, e);
}

/* Finds the sender and the receiver of each message. */
static int find_messages(struct p2p_question *q, struct err *e)
{
    const struct predict_p2p_opts *o = q->opts;
    const int nodes = o->across ? 2 : 1, most = nodes * (int)q->on.network->gpus_per_node;
    struct comm_messages *m = &q->messages;
    *m = (struct comm_messages){
        comm_direction_parse(o->direction), {2, nodes, 2 / nodes}, (int)o->flows};
    if (m->direction == COMM_DIRECTIONS || m->direction == COMM_TO_NEXT)
        return err_set(e, ERR_USAGE, "--direction: '%.64s' is none of one_way, both and all",
                       o->direction);
    if (m->direction != COMM_ALL_PAIRS)
        return o->ranks == PREDICT_NO_NUMBER
                   ? 0
                   : err_set(e, ERR_USAGE, "--ranks is for --direction all");
    if (o->flows != 1)
        return err_set(e, ERR_USAGE, "--flows: with --direction all every GPU sends");
    m->where.ranks = o->ranks == PREDICT_NO_NUMBER ? most : (int)o->ranks;
    if (o->ranks != PREDICT_NO_NUMBER && (o->ranks < 2 || o->ranks > most))
        return err_set(e, ERR_USAGE, "--ranks: %lld is out of range: 2 to %d on network '%s'",
                       (long long)o->ranks, most, q->on.network->name);
    m->where.per_node = (m->where.ranks + nodes - 1) / nodes;
    return 0;
}

static int predict(const struct predict_p2p_opts *o, struct arena *a, struct err *e)
{
    struct p2p_question q = {.opts = o};
    if (predict_sizes_parse(o->bytes, o->factor, o->step, &q.sizes, e) < 0)
        return -1;
    if (o->flows < 1 || o->flows > INT_MAX)
        return err_set(e, ERR_USAGE, "--flows: %lld is out of range", (long long)o->flows);
    if (cmd_target(o->gpu, o->network, true, a, &q.on, e) < 0)
        return -1;
    if (o->flows > q.on.network->gpus_per_node)
        return err_set(e, ERR_USAGE, "--flows: a node of network '%s' has %g GPUs",
                       q.on.network->name, q.on.network->gpus_per_node);
    if (find_messages(&q, e) < 0)
        return -1;
    return q.sizes.sweep ? print_many(&q, e) : print_one(&q, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct predict_p2p_opts o = {
        .direction = "one_way", .ranks = PREDICT_NO_NUMBER, .flows = 1, .factor = 2};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status != 0)
        return status;
    return predict(&o, a, e) < 0 ? (int)e->code : 0;
}

const struct cmd_kind predict_p2p = {
    .name = "p2p",
    .command = {.name = "predict",
                .synopsis = "predict p2p --bytes SIZE[:SIZE]" SYNOPSIS_ALL,
                .summary = "predict messages between GPUs",
                .rows = rows},
    .run = run,
};

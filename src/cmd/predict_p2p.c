/* SPDX-License-Identifier: MIT
 *
 * specter predict p2p: a message between two GPUs.
 */
#include "cmd/predict_explain.h"
#include "model/bound.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>

struct p2p_opts {
    const char *gpu, *network, *bytes;
    struct opt_bytes step;
    int64_t flows;
    double factor;
    bool across, explain, json;
};

#define AT(field) offsetof(struct p2p_opts, field)

static const struct opt rows[] = {
    {"bytes", 0, OPT_STR, AT(bytes), "SIZE", "size of the message, or a sweep: 1K:8G"},
    {"factor", 0, OPT_DOUBLE, AT(factor), "F", "a sweep's next size; default 2"},
    {"step", 0, OPT_BYTES, AT(step), "SIZE", "instead: so many bytes more"},
    {"across", 0, OPT_FLAG, AT(across), NULL, "between two nodes, not within one"},
    {"flows", 0, OPT_I64, AT(flows), "N", "GPUs of the node that send at once; default 1"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default " GPU_PROFILE_DEFAULT},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "network profile; default: the GPU's"},
    {"explain", 0, OPT_FLAG, AT(explain), NULL, "the sizes at which the protocol changes"},
    {"json", 0, OPT_FLAG, AT(json), NULL, "print JSON; of several results, an array"},
    OPT_END,
};

/* What is asked, checked. */
struct question {
    const struct p2p_opts *opts;
    struct predict_sizes sizes;
    struct profile_pair on;
};

/* `question` is a struct question. */
static int answer(const void *question, uint64_t bytes, struct predict_transfer *t, struct err *e)
{
    const struct question *q = question;
    const struct profile_pair *on = &q->on;
    bool across = q->opts->across;
    int flows = (int)q->opts->flows;
    *t = (struct predict_transfer){.on = on,
                                   .op = SPECTER_SEND,
                                   .across = across,
                                   .flows = flows,
                                   .bytes = (double)bytes,
                                   .where = {2, across ? 2 : 1, across ? 1 : 2}};
    if (model_p2p_flows(on->gpu, on->network, t->bytes, across, flows, &t->cost, e) < 0)
        return -1;
    t->bound_us =
        comm_bound_p2p(on->gpu, on->network, across ? t->bytes * flows : t->bytes, across).us;
    return 0;
}

/* ---- one answer ---- */

#define JUMPS_LAST ((uint64_t)1 << 36) /* 64 GiB */

static int write_one(const struct question *q, const struct predict_transfer *t, struct err *e)
{
    const struct predict_ask ask = {answer, q};
    cJSON *doc = predict_transfer_json(t);
    if (q->opts->explain && predict_add_jumps(doc, &ask, 1, JUMPS_LAST, e) < 0) {
        cJSON_Delete(doc);
        return -1;
    }
    return cmd_write_json(doc, "-", e);
}

static int print_one(const struct question *q, struct err *e)
{
    const struct predict_ask ask = {answer, q};
    struct predict_transfer t;
    if (answer(q, q->sizes.first, &t, e) < 0)
        return -1;
    if (q->opts->json)
        return write_one(q, &t, e);
    predict_print_title(&t);
    predict_print_transfer(&t);
    if (q->opts->explain) {
        puts("\nwhere the choice changes, from 1 B to 64 GiB");
        if (predict_print_jumps(&ask, 1, JUMPS_LAST, "  ", e) < 0)
            return -1;
    }
    predict_print_assumptions(model_comm_assumptions);
    return 0;
}

/* ---- many answers ---- */

static int print_many(const struct question *q, struct err *e)
{
    const struct predict_sizes *s = &q->sizes;
    const struct predict_ask ask = {answer, q};
    struct predict_transfer t;
    struct predict_rows r;
    if (answer(q, s->first, &t, e) < 0)
        return -1;
    predict_rows_init(&r, SPECTER_FP32, false, q->opts->json);
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

static int predict(const struct p2p_opts *o, struct arena *a, struct err *e)
{
    struct question q = {.opts = o};
    if (predict_sizes_parse(o->bytes, o->factor, o->step, &q.sizes, e) < 0)
        return -1;
    if (o->flows < 1 || o->flows > INT_MAX)
        return err_set(e, ERR_USAGE, "--flows: %lld is out of range", (long long)o->flows);
    if (cmd_target(o->gpu, o->network, true, a, &q.on, e) < 0)
        return -1;
    if (o->flows > q.on.network->gpus_per_node)
        return err_set(e, ERR_USAGE, "--flows: a node of network '%s' has %g GPUs",
                       q.on.network->name, q.on.network->gpus_per_node);
    return q.sizes.sweep ? print_many(&q, e) : print_one(&q, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct p2p_opts o = {.flows = 1, .factor = 2};
    int status = predict_parse(self, &o, argc, argv, e);
    if (status >= 0)
        return status;
    return predict(&o, a, e) < 0 ? (int)e->code : 0;
}

const struct predict_kind predict_p2p = {
    .name = "p2p",
    .command = {.name = "predict",
                .synopsis =
                    "predict p2p --bytes SIZE[:SIZE] [--across] [--flows N] [--gpu NAME|FILE] "
                    "[--network NAME|FILE] [--json]",
                .summary = "predict one message between two GPUs",
                .rows = rows},
    .run = run,
};

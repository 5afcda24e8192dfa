/* SPDX-License-Identifier: MIT
 *
 * specter predict p2p: a message between two GPUs.
 */
#include "cmd/predict.h"
#include "model/bound.h"

struct p2p_opts {
    const char *gpu, *network, *bytes;
    struct opt_bytes step;
    double factor;
    bool across, json;
};

#define AT(field) offsetof(struct p2p_opts, field)

static const struct opt rows[] = {
    {"bytes", 0, OPT_STR, AT(bytes), "SIZE", "size of the message, or a sweep: 1K:8G"},
    {"factor", 0, OPT_DOUBLE, AT(factor), "F", "a sweep's next size; default 2"},
    {"step", 0, OPT_BYTES, AT(step), "SIZE", "instead: so many bytes more"},
    {"across", 0, OPT_FLAG, AT(across), NULL, "between two nodes, not within one"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default " GPU_PROFILE_DEFAULT},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "network profile; default: the GPU's"},
    {"json", 0, OPT_FLAG, AT(json), NULL, "print JSON; of several results, an array"},
    OPT_END,
};

static int answer(const struct profile_pair *on, bool across, uint64_t bytes,
                  struct predict_transfer *t, struct err *e)
{
    *t = (struct predict_transfer){.on = on,
                                   .op = SPECTER_SEND,
                                   .across = across,
                                   .bytes = (double)bytes,
                                   .where = {2, across ? 2 : 1, across ? 1 : 2}};
    if (model_p2p(on->gpu, on->network, t->bytes, across, &t->cost, e) < 0)
        return -1;
    t->bound_us = comm_bound_p2p(on->gpu, on->network, t->bytes, across).us;
    return 0;
}

static int print_one(const struct p2p_opts *o, const struct predict_transfer *t, struct err *e)
{
    if (o->json)
        return cmd_write_json(predict_transfer_json(t), "-", e);
    predict_print_title(t);
    predict_print_transfer(t);
    predict_print_assumptions(model_comm_assumptions);
    return 0;
}

static int print_many(const struct p2p_opts *o, const struct profile_pair *on,
                      const struct predict_sizes *sizes, struct err *e)
{
    struct predict_transfer t;
    struct predict_rows r;
    predict_rows_init(&r, SPECTER_FP32, false, o->json);
    for (uint64_t b = sizes->first; b <= sizes->last; b = predict_sizes_next(sizes, b)) {
        if (answer(on, o->across, b, &t, e) < 0 ||
            predict_rows_put(&r, &t, b == sizes->first, e) < 0) {
            predict_rows_drop(&r);
            return -1;
        }
    }
    return predict_rows_end(&r, e);
}

static int predict(const struct p2p_opts *o, struct arena *a, struct err *e)
{
    struct predict_sizes sizes;
    struct profile_pair on;
    struct predict_transfer t;
    if (predict_sizes_parse(o->bytes, o->factor, o->step, &sizes, e) < 0 ||
        cmd_target(o->gpu, o->network, true, a, &on, e) < 0 ||
        answer(&on, o->across, sizes.first, &t, e) < 0)
        return -1;
    return sizes.sweep ? print_many(o, &on, &sizes, e) : print_one(o, &t, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct p2p_opts o = {.factor = 2};
    int status = predict_parse(self, &o, argc, argv, e);
    if (status >= 0)
        return status;
    return predict(&o, a, e) < 0 ? (int)e->code : 0;
}

const struct predict_kind predict_p2p = {
    .name = "p2p",
    .command = {.name = "predict",
                .synopsis = "predict p2p --bytes SIZE[:SIZE] [--across] [--gpu NAME|FILE] "
                            "[--network NAME|FILE] [--json]",
                .summary = "predict one message between two GPUs",
                .rows = rows},
    .run = run,
};

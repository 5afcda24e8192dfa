/* SPDX-License-Identifier: MIT
 *
 * specter predict: what one operation costs, without a trace.
 */
#include "cmd/cmd.h"

#include "base/arena.h"
#include "cmd/hardware.h"
#include "model/cost.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define NO_NUMBER INT64_MIN           /* not given, and no number that an option accepts */
#define BYTES_MAX ((uint64_t)1 << 53) /* up to here a double counts single bytes */

struct predict_opts {
    const char *gpu, *network, *op, *dtype;
    struct arena *arena; /* of profiles that come from files */
    struct opt_bytes bytes;
    int64_t ranks, m, n, k, batch;
    bool across, json;
};

#define AT(field) offsetof(struct predict_opts, field)
#define GPU_ROW                                                                              \
    {                                                                                        \
        "gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default " GPU_PROFILE_DEFAULT \
    }
#define NETWORK_ROW                                                                            \
    {                                                                                          \
        "network", 0, OPT_STR, AT(network), "NAME|FILE", "network profile; default: the GPU's" \
    }
#define JSON_ROW                                          \
    {                                                     \
        "json", 0, OPT_FLAG, AT(json), NULL, "print JSON" \
    }

static const struct opt collective_rows[] = {
    {"op", 0, OPT_STR, AT(op), "OP", "all_reduce, all_gather, reduce_scatter, alltoall, ..."},
    {"bytes", 0, OPT_BYTES, AT(bytes), "SIZE", "full buffer, as nccl-tests counts it: 64M, 1G"},
    {"ranks", 0, OPT_I64, AT(ranks), "N", "GPUs that take part, filling node after node"},
    GPU_ROW,
    NETWORK_ROW,
    JSON_ROW,
    OPT_END,
};

static const struct opt p2p_rows[] = {
    {"bytes", 0, OPT_BYTES, AT(bytes), "SIZE", "size of the message: 64M, 1G"},
    {"across", 0, OPT_FLAG, AT(across), NULL, "between two nodes, not within one"},
    GPU_ROW,
    NETWORK_ROW,
    JSON_ROW,
    OPT_END,
};

static const struct opt gemm_rows[] = {
    {"m", 'm', OPT_I64, AT(m), "N", "rows of the result"},
    {"n", 'n', OPT_I64, AT(n), "N", "columns of the result"},
    {"k", 'k', OPT_I64, AT(k), "N", "length of the sums"},
    {"batch", 0, OPT_I64, AT(batch), "N", "products of this shape; default 1"},
    {"dtype", 0, OPT_STR, AT(dtype), "TYPE", "type of A, B and C; default fp16"},
    GPU_ROW,
    JSON_ROW,
    OPT_END,
};

struct target {
    const struct gpu_profile *gpu;
    const struct network_profile *net; /* NULL where none is needed */
};

static int find_target(const struct predict_opts *o, bool needs_network, struct target *t,
                       struct err *e)
{
    struct profile_pair pair;
    if (cmd_target(o->gpu, o->network, needs_network, o->arena, &pair, e) < 0)
        return -1;
    *t = (struct target){.gpu = pair.gpu, .net = pair.network};
    return 0;
}

static int missing(const char *option, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s is needed (see 'specter help predict')", option);
}

static void print_assumptions(const char *const *texts)
{
    puts("\nassumes");
    for (; *texts != NULL; texts++) {
        fputs("  ", stdout);
        opt_wrap(*texts, 2, 4, stdout);
    }
}

static void add_assumptions(cJSON *doc, const char *const *texts)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "assumptions");
    for (; *texts != NULL; texts++)
        cJSON_AddItemToArray(list, cJSON_CreateString(*texts));
}

static cJSON *new_doc(const char *kind, const struct target *t)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "schema", "specter.predict/1");
    cJSON_AddStringToObject(doc, "kind", kind);
    cJSON_AddStringToObject(doc, "gpu", t->gpu->name);
    if (t->net != NULL)
        cJSON_AddStringToObject(doc, "network", t->net->name);
    return doc;
}

/* NAN where nothing moves, so that there is no rate: one rank, or no bytes. bytes per us are 1e-3
 * GB/s. */
static double algbw_GBps(const struct comm_cost *c, double bytes)
{
    return bytes > 0 && c->bw_GBps > 0 ? bytes / c->us / 1e3 : NAN;
}

static void print_rate(const char *name, double GBps)
{
    if (isnan(GBps))
        printf("  %-10s -\n", name);
    else
        printf("  %-10s %.2f GB/s\n", name, GBps);
}

static void add_rate(cJSON *doc, const char *name, double GBps)
{
    if (isnan(GBps))
        cJSON_AddNullToObject(doc, name);
    else
        cJSON_AddNumberToObject(doc, name, GBps);
}

static void print_bound(const struct comm_cost *c)
{
    if (strcmp(c->bound, "latency") == 0)
        puts("  bound      latency: launch and steps take longer than the bytes");
    else
        printf("  bound      %s: links %s, %.2f GB/s bus bandwidth\n", c->bound,
               strcmp(c->bound, "intra") == 0 ? "within a node" : "between nodes", c->bw_GBps);
}

/* What both kinds of communication have in common. bus: busbw / algbw. */
static void print_comm(const struct comm_cost *c, double bytes, double bus)
{
    char text[32];
    printf("  time       %s\n", text_ns(text, sizeof text, c->us * 1e3));
    printf("  latency    %s of it\n", text_ns(text, sizeof text, c->lat_us * 1e3));
    print_rate("algbw", algbw_GBps(c, bytes));
    print_rate("busbw", algbw_GBps(c, bytes) * bus);
    printf("  algorithm  %s, protocol %s\n", c->algo, c->proto);
    print_bound(c);
    print_assumptions(model_comm_assumptions);
}

static int write_comm(cJSON *doc, const struct comm_cost *c, double bytes, double bus,
                      struct err *e)
{
    cJSON_AddNumberToObject(doc, "bytes", bytes);
    cJSON_AddNumberToObject(doc, "time_us", c->us);
    cJSON_AddNumberToObject(doc, "lat_us", c->lat_us);
    add_rate(doc, "algbw_GBps", algbw_GBps(c, bytes));
    add_rate(doc, "busbw_GBps", algbw_GBps(c, bytes) * bus);
    cJSON_AddNumberToObject(doc, "bw_GBps", c->bw_GBps);
    cJSON_AddStringToObject(doc, "algo", c->algo);
    cJSON_AddStringToObject(doc, "proto", c->proto);
    cJSON_AddStringToObject(doc, "bound", c->bound);
    add_assumptions(doc, model_comm_assumptions);
    return cmd_write_json(doc, "-", e);
}

static int check_bytes(const struct predict_opts *o, struct err *e)
{
    if (!o->bytes.given)
        return missing("--bytes", e);
    if (o->bytes.value > BYTES_MAX)
        return err_set(e, ERR_USAGE, "--bytes: %llu is out of range: at most %llu (8192T)",
                       (unsigned long long)o->bytes.value, (unsigned long long)BYTES_MAX);
    return 0;
}

static int check_collective(const struct predict_opts *o, enum specter_comm_op *op, struct err *e)
{
    if (o->op == NULL)
        return missing("--op", e);
    if (check_bytes(o, e) < 0)
        return -1;
    if (o->ranks == NO_NUMBER)
        return missing("--ranks", e);
    if (o->ranks < 1 || o->ranks > INT_MAX)
        return err_set(e, ERR_USAGE, "--ranks: %lld is out of range", (long long)o->ranks);
    *op = specter_comm_op_parse(o->op, strlen(o->op));
    if (*op == SPECTER_COMM_OP_COUNT)
        return err_set(e, ERR_USAGE,
                       "--op: unknown operation '%.64s'; known are all_reduce, all_gather, "
                       "reduce_scatter, alltoall, alltoallv, broadcast, reduce, gather, scatter",
                       o->op);
    if (specter_comm_op_is_p2p(*op))
        return err_set(e, ERR_USAGE, "--op: %s is no collective (see 'specter predict p2p')",
                       specter_comm_op_name(*op));
    return 0;
}

static int predict_collective(const struct predict_opts *o, struct err *e)
{
    enum specter_comm_op op = SPECTER_COMM_OP_COUNT;
    struct comm_cost cost;
    struct layout where;
    struct target t;
    double bytes = (double)o->bytes.value, bus;
    char text[32];
    if (check_collective(o, &op, e) < 0 || find_target(o, true, &t, e) < 0)
        return -1;
    where = layout_dense(t.net, (int)o->ranks);
    if (model_collective(t.gpu, t.net, op, bytes, where, &cost, e) < 0)
        return -1;
    bus = specter_comm_op_bus_factor(op, (uint64_t)o->ranks);
    if (o->json) {
        cJSON *doc = new_doc("collective", &t);
        cJSON_AddStringToObject(doc, "op", specter_comm_op_name(op));
        cJSON_AddNumberToObject(doc, "ranks", where.ranks);
        cJSON_AddNumberToObject(doc, "nodes", where.nodes);
        return write_comm(doc, &cost, bytes, bus, e);
    }
    printf("%s of %s by %d rank%s on %d node%s of %s, %s\n\n", specter_comm_op_name(op),
           text_bytes(text, sizeof text, bytes), where.ranks, where.ranks == 1 ? "" : "s",
           where.nodes, where.nodes == 1 ? "" : "s", t.net->name, t.gpu->name);
    print_comm(&cost, bytes, bus);
    return 0;
}

static int predict_p2p(const struct predict_opts *o, struct err *e)
{
    struct comm_cost cost;
    struct target t;
    double bytes = (double)o->bytes.value;
    char text[32];
    if (check_bytes(o, e) < 0)
        return -1;
    if (find_target(o, true, &t, e) < 0 || model_p2p(t.gpu, t.net, bytes, o->across, &cost, e) < 0)
        return -1;
    if (o->json) {
        cJSON *doc = new_doc("p2p", &t);
        cJSON_AddBoolToObject(doc, "across", o->across);
        return write_comm(doc, &cost, bytes, 1, e);
    }
    printf("Send of %s %s of %s, %s\n\n", text_bytes(text, sizeof text, bytes),
           o->across ? "between two nodes" : "within a node", t.net->name, t.gpu->name);
    print_comm(&cost, bytes, 1);
    return 0;
}

static int parse_gemm(const struct predict_opts *o, struct gemm_shape *s, struct err *e)
{
    enum specter_dtype type = specter_dtype_parse(o->dtype, strlen(o->dtype));
    if (o->m == NO_NUMBER || o->n == NO_NUMBER || o->k == NO_NUMBER)
        return missing(o->m == NO_NUMBER ? "-m" : o->n == NO_NUMBER ? "-n" : "-k", e);
    if (o->m < 1 || o->n < 1 || o->k < 1 || o->batch < 1)
        return err_set(e, ERR_USAGE, "-m, -n, -k and --batch must be positive");
    if (type == SPECTER_DTYPE_UNKNOWN)
        return err_set(e, ERR_USAGE,
                       "--dtype: unknown type '%.64s'; known are fp64, fp32, tf32, fp16, bf16, "
                       "fp8e4m3, fp8e5m2, int8, fp4",
                       o->dtype);
    *s = (struct gemm_shape){(uint64_t)o->m,       (uint64_t)o->n, (uint64_t)o->k,
                             (uint64_t)o->batch,   type,           type,
                             SPECTER_DTYPE_UNKNOWN};
    return 0;
}

static int write_gemm(const struct target *t, const struct gemm_shape *s, const struct gemm_cost *c,
                      double peak, struct err *e)
{
    cJSON *doc = new_doc("gemm", t);
    cJSON_AddNumberToObject(doc, "m", (double)s->m);
    cJSON_AddNumberToObject(doc, "n", (double)s->n);
    cJSON_AddNumberToObject(doc, "k", (double)s->k);
    cJSON_AddNumberToObject(doc, "batch", (double)s->batch);
    cJSON_AddStringToObject(doc, "dtype", specter_dtype_name(s->type));
    cJSON_AddNumberToObject(doc, "flops", c->flops);
    cJSON_AddNumberToObject(doc, "bytes", c->bytes);
    cJSON_AddNumberToObject(doc, "time_us", c->us);
    cJSON_AddNumberToObject(doc, "tflops", c->tflops);
    cJSON_AddNumberToObject(doc, "peak_tflops", peak);
    cJSON_AddNumberToObject(doc, "compute_us", c->compute_us);
    cJSON_AddNumberToObject(doc, "memory_us", c->memory_us);
    cJSON_AddStringToObject(doc, "bound", c->bound);
    add_assumptions(doc, model_gemm_assumptions);
    return cmd_write_json(doc, "-", e);
}

static void print_gemm(const struct target *t, const struct gemm_shape *s,
                       const struct gemm_cost *c, double peak)
{
    char text[32];
    printf("%llu x %llu x %llu product in %s", (unsigned long long)s->m, (unsigned long long)s->n,
           (unsigned long long)s->k, specter_dtype_name(s->type));
    if (s->batch > 1)
        printf(", batch of %llu", (unsigned long long)s->batch);
    printf(" on %s\n\n", t->gpu->name);
    printf("  time       %s\n", text_ns(text, sizeof text, c->us * 1e3));
    printf("  rate       %.2f TFLOPS, %.1f %% of the dense peak of %.6g\n", c->tflops,
           100 * c->tflops / peak, peak);
    printf("  compute    at least %s\n", text_ns(text, sizeof text, c->compute_us * 1e3));
    printf("  memory     at least %s", text_ns(text, sizeof text, c->memory_us * 1e3));
    printf(" for %s\n", text_bytes(text, sizeof text, c->bytes));
    printf("  bound      %s\n", c->bound);
    print_assumptions(model_gemm_assumptions);
}

static int predict_gemm(const struct predict_opts *o, struct err *e)
{
    struct gemm_shape shape;
    struct gemm_cost cost;
    struct target t;
    double peak;
    if (parse_gemm(o, &shape, e) < 0 || find_target(o, false, &t, e) < 0 ||
        model_gemm(t.gpu, &shape, &cost, e) < 0)
        return -1;
    peak = gpu_peak_tflops(t.gpu, shape.type, shape.compute);
    if (o->json)
        return write_gemm(&t, &shape, &cost, peak, e);
    print_gemm(&t, &shape, &cost, peak);
    return 0;
}

#define COLLECTIVE_SYNOPSIS \
    "predict collective --op OP --bytes SIZE --ranks N [--gpu NAME] [--network NAME] [--json]"
#define P2P_SYNOPSIS "predict p2p --bytes SIZE [--across] [--gpu NAME] [--network NAME] [--json]"
#define GEMM_SYNOPSIS "predict gemm -m N -n N -k N [--batch N] [--dtype TYPE] [--gpu NAME] [--json]"

/* One kind of operation. Its command holds options and help; messages send to 'help predict'. */
static const struct kind {
    const char *name;
    struct command command;
    int (*predict)(const struct predict_opts *o, struct err *e);
} kinds[] = {
    {"collective",
     {.name = "predict",
      .synopsis = COLLECTIVE_SYNOPSIS,
      .summary = "predict one collective operation",
      .rows = collective_rows},
     predict_collective},
    {"p2p",
     {.name = "predict",
      .synopsis = P2P_SYNOPSIS,
      .summary = "predict one message between two GPUs",
      .rows = p2p_rows},
     predict_p2p},
    {"gemm",
     {.name = "predict",
      .synopsis = GEMM_SYNOPSIS,
      .summary = "predict one matrix product",
      .rows = gemm_rows},
     predict_gemm},
};

static const struct kind *find_kind(const char *name, struct err *e)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    }
    err_set(e, ERR_USAGE, "cannot predict '%.64s'; known are collective, p2p, gemm", name);
    return NULL;
}

static int run_kind(const struct kind *kind, int argc, char **argv, struct err *e)
{
    struct arena arena;
    struct predict_opts opts = {.ranks = NO_NUMBER,
                                .m = NO_NUMBER,
                                .n = NO_NUMBER,
                                .k = NO_NUMBER,
                                .batch = 1,
                                .dtype = "fp16",
                                .arena = &arena};
    int n, status = cmd_parse(&kind->command, &opts, argc, argv, false, &n, e);
    if (status >= 0)
        return status;
    if (n > 0)
        return -err_set(e, ERR_USAGE, "unexpected argument '%s' (see 'specter help predict')",
                        argv[0]) *
               ERR_USAGE;
    arena_init(&arena);
    status = kind->predict(&opts, e) < 0 ? (int)e->code : 0;
    arena_release(&arena);
    return status;
}

static int run_predict(const struct command *self, int argc, char **argv, struct err *e)
{
    const struct kind *kind;
    int n, status = cmd_parse(self, NULL, argc, argv, true, &n, e);
    if (status >= 0)
        return status;
    if (n == 0)
        return -missing("collective, p2p or gemm", e) * ERR_USAGE;
    kind = find_kind(argv[0], e);
    return kind != NULL ? run_kind(kind, n, argv, e) : ERR_USAGE;
}

static const struct opt predict_rows[] = {OPT_END};

const struct command cmd_predict = {
    .name = "predict",
    .synopsis = COLLECTIVE_SYNOPSIS "\n" P2P_SYNOPSIS "\n" GEMM_SYNOPSIS,
    .summary = "predict one operation, without a trace",
    .details =
        "Time, bandwidth or TFLOPS of one operation on given hardware, and what bounds it.\n"
        "'specter predict collective --help' (p2p, gemm) shows the options of each kind;\n"
        "'specter profiles' lists GPUs and networks; --gpu and --network take a JSON file of one,\n"
        "too. SIZE counts in powers of 1024.",
    .rows = predict_rows,
    .run = run_predict,
};

/* SPDX-License-Identifier: MIT */
#include "calib/measured_row.h"

#include "base/opt.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: up to here a double counts single ones */
#define SHOWN_MAX 40                 /* characters of a value in a reason */

const char *const measured_columns[COLUMN_COUNT] = {
#define X(id, name) name,
    MEASURED_COLUMNS(X)
#undef X
};

struct spelling {
    const char *text, *name;
};

/* What PyTorch, nccl-tests and the frameworks call our types. */
static const struct spelling dtypes[] = {
    {"half", "fp16"},
    {"float16", "fp16"},
    {"f16", "fp16"},
    {"bfloat16", "bf16"},
    {"float", "fp32"},
    {"float32", "fp32"},
    {"f32", "fp32"},
    {"double", "fp64"},
    {"float64", "fp64"},
    {"f64", "fp64"},
    {"fp8", "fp8e4m3"},
    {"fp8_e4m3", "fp8e4m3"},
    {"fp8_e5m2", "fp8e5m2"},
    {"f8e4m3", "fp8e4m3"},
    {"f8e5m2", "fp8e5m2"},
    {"float8", "fp8e4m3"},
    {"float8_e4m3", "fp8e4m3"},
    {"float8_e4m3fn", "fp8e4m3"},
    {"float8_e5m2", "fp8e5m2"},
    {"nvfp4", "fp4"},
    {"mxfp4", "fp4"},
    {"char", "int8"},
    {"int", "int32"},
};

/* NCCL_ALGO's and NCCL_PROTO's values, as struct comm_choice has them. */
static const struct spelling algos[] = {
    {"Ring", "ring"},
    {"Tree", "tree"},
    {"CollnetDirect", "collnet_direct"},
    {"CollnetChain", "collnet_chain"},
    {"NVLS", "nvls"},
    {"NVLSTree", "nvls_tree"},
    {"PAT", "pat"},
};

static const struct spelling protos[] = {{"LL", "LL"}, {"LL128", "LL128"}, {"Simple", "Simple"}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *field(const struct measured_reader *r, enum measured_column column)
{
    return r->place[column] >= 0 ? r->fields[r->place[column]] : "";
}

static bool has(const struct measured_reader *r, enum measured_column column)
{
    const char *text = field(r, column);
    return text[strspn(text, " ")] != '\0';
}

static const char *keep(struct measured_reader *r, enum measured_column column)
{
    const char *text = field(r, column);
    return intern_add(&r->m->names, text, strlen(text));
}

/* "TEXT 'value'", the value made safe and short. */
static int refuse_value(struct measured_reader *r, bool damaged, const char *text,
                        const char *value)
{
    size_t len = strlen(value);
    buf_printf(&r->reason, "%s '", text);
    buf_put_printable(&r->reason, value, len > SHOWN_MAX ? SHOWN_MAX : len);
    buf_puts(&r->reason, len > SHOWN_MAX ? "...'" : "'");
    r->damaged = damaged;
    return -1;
}

static int refuse(struct measured_reader *r, bool damaged, const char *text)
{
    buf_puts(&r->reason, text);
    r->damaged = damaged;
    return -1;
}

static int refuse_column(struct measured_reader *r, enum measured_column column)
{
    if (!has(r, column))
        buf_printf(&r->reason, "no %s", measured_columns[column]);
    else
        buf_printf(&r->reason, "unusable %s", measured_columns[column]);
    r->damaged = true;
    return -1;
}

/* A positive, finite number; spaces around it are allowed. */
static int number(struct measured_reader *r, enum measured_column column, double *out)
{
    const char *text = field(r, column) + strspn(field(r, column), " ");
    size_t len = strlen(text);
    char digits[64];
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len >= sizeof digits)
        return refuse_column(r, column);
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (opt_parse_double("", digits, out, NULL) < 0 || *out <= 0)
        return refuse_column(r, column);
    return 0;
}

/* A whole number from 1 to `largest`; `none` where the field is empty, which 0 forbids. */
static int whole(struct measured_reader *r, enum measured_column column, double largest,
                 double none, double *out)
{
    *out = none;
    if (none > 0 && !has(r, column))
        return 0;
    if (number(r, column, out) < 0)
        return -1;
    return *out <= largest && floor(*out) == *out ? 0 : refuse_column(r, column);
}

static const struct gpu_profile *find_gpu(const struct measured_opts *opts, const char *name)
{
    if (opts->gpu != NULL && (name[0] == '\0' || strcmp(name, opts->gpu->name) == 0))
        return opts->gpu;
    for (size_t i = 0; i < gpu_profile_count; i++) {
        if (strcmp(name, gpu_profiles[i].name) == 0)
            return &gpu_profiles[i];
    }
    return NULL;
}

static const struct network_profile *find_network(const struct measured_opts *opts,
                                                  const char *name)
{
    if (opts->net != NULL && (name[0] == '\0' || strcmp(name, opts->net->name) == 0))
        return opts->net;
    for (size_t i = 0; i < network_profile_count; i++) {
        if (strcmp(name, network_profiles[i].name) == 0)
            return &network_profiles[i];
    }
    return NULL;
}

static int find_profiles(struct measured_reader *r, struct measured_row *row)
{
    const char *gpu = field(r, COLUMN_GPU), *net = field(r, COLUMN_NETWORK);
    row->gpu = find_gpu(r->opts, gpu);
    if (row->gpu == NULL)
        return gpu[0] == '\0' ? refuse(r, false, "names no gpu_profile")
                              : refuse_value(r, false, "unknown gpu_profile", gpu);
    if (r->kind == MEASURED_GEMM)
        return 0;
    row->net = find_network(r->opts, net);
    if (row->net == NULL)
        return net[0] == '\0' ? refuse(r, false, "names no network_profile")
                              : refuse_value(r, false, "unknown network_profile", net);
    return 0;
}

static const char *spelled(const struct spelling *table, size_t count, const char *text, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i].text) == len && strncasecmp(table[i].text, text, len) == 0)
            return table[i].name;
    }
    return NULL;
}

enum specter_dtype measured_dtype_parse(const char *text)
{
    const char *name = spelled(dtypes, COUNT(dtypes), text, strlen(text));
    if (name == NULL)
        name = text;
    for (int type = 0; type < SPECTER_DTYPE_COUNT; type++) {
        if (strcasecmp(specter_dtype_name((enum specter_dtype)type), name) == 0)
            return (enum specter_dtype)type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}

/* The value of NAME= within `notes`, without the "allreduce:" that NCCL_ALGO may have before it. */
static const char *setting(const char *notes, const char *name, size_t *len)
{
    const char *at = strstr(notes, name), *colon;
    if (at == NULL)
        return NULL;
    at += strlen(name);
    *len = strcspn(at, " ;,)\t");
    colon = memchr(at, ':', *len);
    if (colon != NULL) {
        *len -= (size_t)(colon + 1 - at);
        at = colon + 1;
    }
    return at;
}

static const char *forced(const struct measured_reader *r, enum measured_column column,
                          const char *variable, const struct spelling *table, size_t count)
{
    const char *text = field(r, column);
    size_t len = strlen(text);
    if (len == 0)
        text = setting(field(r, COLUMN_NOTES), variable, &len);
    return text != NULL ? spelled(table, count, text, len) : NULL;
}

/* What the run made NCCL do: without it, a ring that was asked for would be held against NVLS. */
static void parse_forced(const struct measured_reader *r, struct measured_row *row)
{
    row->forced.algo = forced(r, COLUMN_ALGO, "NCCL_ALGO=", algos, COUNT(algos));
    row->forced.proto = forced(r, COLUMN_PROTO, "NCCL_PROTO=", protos, COUNT(protos));
    row->no_nvls =
        strstr(row->notes, "NCCL_NVLS_ENABLE=0") != NULL || strstr(row->notes, "NVLS off") != NULL;
}

/* "2.29.7" as NCCL_VERSION_CODE has it: 22907. 0 when it is something else. */
static int parse_nccl(const char *text)
{
    int part[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 2)
            return 0;
        part[i] = atoi(text);
        text += digits;
        if (*text != '.')
            break;
        text++;
    }
    return part[0] * 10000 + part[1] * 100 + part[2];
}

/* Ranks over nodes; where the nodes are not said, as full as they are. */
static int parse_layout(struct measured_reader *r, struct measured_row *row, double ranks_default)
{
    double ranks, nodes, per_node;
    if (whole(r, COLUMN_RANKS, INT_MAX, ranks_default, &ranks) < 0 ||
        whole(r, COLUMN_PER_NODE, INT_MAX, INT_MAX, &per_node) < 0)
        return -1;
    row->gpus_per_node = per_node < INT_MAX ? (int)per_node : 0;
    if (row->gpus_per_node == 0 && row->net->gpus_per_node > 0)
        per_node = row->net->gpus_per_node;
    if (whole(r, COLUMN_NODES, INT_MAX, ceil(ranks / per_node), &nodes) < 0)
        return -1;
    if (nodes > ranks)
        return refuse(r, true, "more nodes than ranks");
    if (ranks < 2)
        return refuse(r, false, "a single rank: nothing is sent");
    row->where = (struct layout){(int)ranks, (int)nodes, (int)ceil(ranks / nodes)};
    return 0;
}

/* The time as it stands, or from the rate in `column`, which is `work` over time. */
static int parse_time(struct measured_reader *r, struct measured_row *row,
                      enum measured_column column, double work)
{
    double rate;
    if (has(r, COLUMN_TIME) || !has(r, column))
        return number(r, COLUMN_TIME, &row->time_us);
    if (number(r, column, &rate) < 0)
        return -1;
    row->time_us = work / rate;
    return isfinite(row->time_us) && row->time_us > 0 ? 0 : refuse_column(r, column);
}

static int parse_collective(struct measured_reader *r, struct measured_row *row)
{
    const char *name = field(r, COLUMN_COLLECTIVE);
    double bus;
    row->op = specter_comm_op_parse(name, strlen(name));
    if (row->op == SPECTER_COMM_OP_COUNT || specter_comm_op_is_p2p(row->op))
        return refuse_value(r, true, "unknown collective", name);
    if (whole(r, COLUMN_BYTES, WHOLE_MAX, 0, &row->bytes) < 0 || parse_layout(r, row, 0) < 0)
        return -1;
    bus = specter_comm_op_bus_factor(row->op, (uint64_t)row->where.ranks);
    /* 1 GB/s is 1e3 bytes/us. */
    if (has(r, COLUMN_ALGBW))
        return parse_time(r, row, COLUMN_ALGBW, row->bytes / 1e3);
    return parse_time(r, row, COLUMN_BUSBW, row->bytes * bus / 1e3);
}

static int parse_p2p(struct measured_reader *r, struct measured_row *row)
{
    const char *test = field(r, COLUMN_TEST);
    row->op = SPECTER_SEND;
    if (strncasecmp(test, "nvbandwidth", strlen("nvbandwidth")) == 0)
        return refuse(r, false, "nvbandwidth copies memory, which is no message of NCCL: no model");
    if (strcasestr(test, "send") == NULL) /* sendrecv_perf, isend/irecv, ... */
        return refuse_value(r, false, "no model for the test", test);
    if (whole(r, COLUMN_BYTES, WHOLE_MAX, 0, &row->bytes) < 0 || parse_layout(r, row, 2) < 0)
        return -1;
    return parse_time(r, row, COLUMN_BW, row->bytes / 1e3);
}

static int parse_gemm(struct measured_reader *r, struct measured_row *row)
{
    double m, n, k, batch;
    if (whole(r, COLUMN_M, WHOLE_MAX, 0, &m) < 0 || whole(r, COLUMN_N, WHOLE_MAX, 0, &n) < 0 ||
        whole(r, COLUMN_K, WHOLE_MAX, 0, &k) < 0 ||
        whole(r, COLUMN_BATCH, WHOLE_MAX, 1, &batch) < 0)
        return -1;
    if (row->dtype == SPECTER_DTYPE_UNKNOWN)
        return has(r, COLUMN_DTYPE) ? refuse_value(r, true, "unknown dtype", field(r, COLUMN_DTYPE))
                                    : refuse_column(r, COLUMN_DTYPE);
    row->m = (uint64_t)m;
    row->n = (uint64_t)n;
    row->k = (uint64_t)k;
    row->batch = (uint64_t)batch;
    row->lib = keep(r, COLUMN_LIB);
    /* 1 TFLOPS is 1e6 FLOPs/us. */
    return parse_time(r, row, COLUMN_TFLOPS, 2 * m * n * k * batch / 1e6);
}

static int (*const parsers[MEASURED_KINDS])(struct measured_reader *, struct measured_row *) = {
    parse_collective,
    parse_p2p,
    parse_gemm,
};

/* "run3.csv" of "bench/run3.csv": who measured, where no column says it. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

int measured_row_parse(struct measured_reader *r, struct measured_row *row)
{
    const char *in_place = field(r, COLUMN_IN_PLACE), *base = base_name(r->path);
    *row = (struct measured_row){.kind = r->kind, .file = r->path};
    row->notes = keep(r, COLUMN_NOTES);
    if (strcasestr(row->notes, "doubtful") != NULL)
        return refuse(r, false, "marked doubtful");
    if (find_profiles(r, row) < 0)
        return -1;
    row->source = has(r, COLUMN_SOURCE) ? keep(r, COLUMN_SOURCE)
                                        : intern_add(&r->m->names, base, strlen(base));
    row->dtype = measured_dtype_parse(field(r, COLUMN_DTYPE));
    row->in_place = in_place[0] == '0' ? 0 : in_place[0] == '1' ? 1 : -1;
    row->nccl = parse_nccl(field(r, COLUMN_NCCL));
    row->lib = "";
    parse_forced(r, row);
    return parsers[r->kind](r, row);
}

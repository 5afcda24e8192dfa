/* SPDX-License-Identifier: MIT
 *
 * Reads one row of a measured table by the columns of its header (measured.h).
 */
#include "calib/measured.h"

#include "base/opt.h"
#include "specter/nccl_names.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: up to here a double counts single ones */
#define TIME_MIN 1e-3                /* us: a clock of a GPU ticks no faster */
#define TIME_MAX 1e12                /* us: twelve days */
#define SHOWN_MAX 40                 /* characters of a value in a reason */

const char *const measured_column_names[COLUMN_COUNT] = {
#define X(id, name) name,
    MEASURED_COLUMNS(X)
#undef X
};

static const char *field(const struct measured_reader *r, enum measured_column column)
{
    return r->place[column] >= 0 ? r->fields[r->place[column]] : "";
}

static bool has(const struct measured_reader *r, enum measured_column column)
{
    return field(r, column)[0] != '\0';
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
        buf_printf(&r->reason, "no %s", measured_column_names[column]);
    else
        buf_printf(&r->reason, "unusable %s", measured_column_names[column]);
    r->damaged = true;
    return -1;
}

/* A positive, finite number. */
static int number(struct measured_reader *r, enum measured_column column, double *out)
{
    if (opt_parse_double("", field(r, column), out, NULL) < 0 || *out <= 0)
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

static int find_profiles(struct measured_reader *r, struct measured_row *row)
{
    const char *gpu = field(r, COLUMN_GPU), *net = field(r, COLUMN_NETWORK);
    const struct gpu_profile *own_gpu = r->opts->gpu;
    const struct network_profile *own_net = r->opts->net;
    if (own_gpu != NULL && (gpu[0] == '\0' || strcasecmp(gpu, own_gpu->name) == 0))
        row->gpu = own_gpu;
    for (size_t i = 0; i < gpu_profile_count && row->gpu == NULL; i++) {
        if (strcasecmp(gpu, gpu_profiles[i].name) == 0)
            row->gpu = &gpu_profiles[i];
    }
    if (row->gpu == NULL && gpu[0] == '\0' && has(r, COLUMN_DEVICE)) {
        row->gpu = gpu_profile_of_device(field(r, COLUMN_DEVICE));
        if (row->gpu == NULL)
            return refuse_value(r, false, "unknown gpu", field(r, COLUMN_DEVICE));
    }
    if (row->gpu == NULL)
        return gpu[0] == '\0' ? refuse(r, false, "names no gpu_profile")
                              : refuse_value(r, false, "unknown gpu_profile", gpu);
    if (r->kind == MEASURED_GEMM)
        return 0;
    if (own_net != NULL && (net[0] == '\0' || strcasecmp(net, own_net->name) == 0))
        row->net = own_net;
    for (size_t i = 0; i < network_profile_count && row->net == NULL; i++) {
        if (strcasecmp(net, network_profiles[i].name) == 0)
            row->net = &network_profiles[i];
    }
    if (row->net == NULL)
        return net[0] == '\0' ? refuse(r, false, "names no network_profile")
                              : refuse_value(r, false, "unknown network_profile", net);
    return 0;
}

/* The value of NAME= within `notes`, without the "allreduce:" that NCCL_ALGO may have before it;
 * NULL: not there, or a list, which leaves the choice to NCCL. */
static const char *setting(const char *notes, const char *name, size_t *len)
{
    const char *at = strstr(notes, name), *colon;
    if (at == NULL)
        return NULL;
    at += strlen(name);
    *len = strcspn(at, " ;,)\t");
    if (at[*len] == ',' && isalpha((unsigned char)at[*len + 1]))
        return NULL;
    colon = memchr(at, ':', *len);
    if (colon != NULL) {
        *len -= (size_t)(colon + 1 - at);
        at = colon + 1;
    }
    return at;
}

static const char *forced(const struct measured_reader *r, enum measured_column column,
                          const char *variable, const char *(*name)(const char *, size_t))
{
    const char *text = field(r, column);
    size_t len = strlen(text);
    if (len == 0)
        text = setting(field(r, COLUMN_NOTES), variable, &len);
    return text != NULL ? name(text, len) : NULL;
}

/* Ranks over nodes. Where the nodes are not said, as full as they are; where the ranks are not, one
 * for each GPU of the nodes; and `few` where nothing is (0: that is refused). */
static int parse_layout(struct measured_reader *r, struct measured_row *row, double few)
{
    const struct network_profile *net = row->net;
    double ranks, nodes, each, per_node = net->gpus_per_node > 0 ? net->gpus_per_node : INFINITY;
    if (has(r, COLUMN_PER_NODE) && whole(r, COLUMN_PER_NODE, INT_MAX, 0, &per_node) < 0)
        return -1;
    if (!has(r, COLUMN_RANKS) && has(r, COLUMN_NODES) && has(r, COLUMN_PER_NODE)) {
        if (whole(r, COLUMN_NODES, INT_MAX, 0, &nodes) < 0)
            return -1;
        ranks = nodes * per_node;
    } else if (whole(r, COLUMN_RANKS, INT_MAX, few, &ranks) < 0 ||
               whole(r, COLUMN_NODES, INT_MAX, fmax(ceil(ranks / per_node), 1), &nodes) < 0) {
        return -1;
    }
    if (ranks > INT_MAX)
        return refuse(r, true, "too many ranks");
    if (nodes > ranks)
        return refuse(r, true, "more nodes than ranks");
    if (ranks < 2)
        return refuse(r, false, "a single rank: nothing is sent");
    /* A table may count an NVLink domain of several nodes (a rack of NVL72) as one node. */
    each = ceil(ranks / nodes);
    if (net->gpus_per_node > 0 && each > net->gpus_per_node && each <= net->domain_gpus)
        nodes *= ceil(each / net->gpus_per_node);
    row->where = (struct layout){(int)ranks, (int)nodes, (int)ceil(ranks / nodes)};
    return 0;
}

/* nccl-tests rounds small sizes down to whole elements of each rank, which can be none. */
static int parse_bytes(struct measured_reader *r, struct measured_row *row)
{
    double none;
    if (opt_parse_double("", field(r, COLUMN_BYTES), &none, NULL) == 0 && none == 0)
        return refuse(r, false, "0 bytes: nothing is sent");
    return whole(r, COLUMN_BYTES, WHOLE_MAX, 0, &row->bytes);
}

/* The time as it stands, or from the rate in `column`, which is `work` over time. */
static int parse_time(struct measured_reader *r, struct measured_row *row,
                      enum measured_column column, double work)
{
    double rate;
    if (has(r, COLUMN_TIME) || !has(r, column)) {
        column = COLUMN_TIME;
        if (number(r, column, &row->time_us) < 0)
            return -1;
    } else {
        if (number(r, column, &rate) < 0)
            return -1;
        row->time_us = work / rate;
    }
    return row->time_us >= TIME_MIN && row->time_us <= TIME_MAX ? 0 : refuse_column(r, column);
}

static int parse_collective(struct measured_reader *r, struct measured_row *row)
{
    const char *name = field(r, COLUMN_COLLECTIVE);
    double bus;
    row->op = measured_op(name);
    if (name[0] == '\0')
        return refuse_column(r, COLUMN_COLLECTIVE);
    if (row->op == SPECTER_COMM_OP_COUNT ||
        (specter_comm_op_is_p2p(row->op) && row->op != SPECTER_SEND))
        return refuse_value(r, false, "unknown collective", name);
    if (row->op == SPECTER_SEND) /* nccl-tests lists sendrecv among its collectives */
        row->kind = MEASURED_P2P;
    if (parse_bytes(r, row) < 0 || parse_layout(r, row, 0) < 0)
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
    /* sendrecv_perf, isend/irecv, ...; but perftest's ib_send_bw knows no GPU's NCCL. */
    if (strcasestr(test, "send") == NULL || strncasecmp(test, "ib_", 3) == 0)
        return refuse_value(r, false, "no model for the test", test);
    if (parse_bytes(r, row) < 0 || parse_layout(r, row, 2) < 0)
        return -1;
    /* Tables have other words for directions, too, of tests that say it better. */
    row->direction = comm_direction_parse(field(r, COLUMN_DIRECTION));
    if (row->direction == COMM_DIRECTIONS)
        row->direction = COMM_TO_NEXT;
    if ((row->direction == COMM_ONE_WAY || row->direction == COMM_BOTH_WAYS) &&
        row->where.ranks != 2)
        return refuse(r, true, "a message between two ranks, of more than 2");
    return parse_time(r, row, COLUMN_BW, row->bytes / 1e3);
}

static int parse_gemm(struct measured_reader *r, struct measured_row *row)
{
    const char *cache = field(r, COLUMN_CACHE); /* where its operands were when a call began */
    double m, n, k, batch;
    if (whole(r, COLUMN_M, WHOLE_MAX, 0, &m) < 0 || whole(r, COLUMN_N, WHOLE_MAX, 0, &n) < 0 ||
        whole(r, COLUMN_K, WHOLE_MAX, 0, &k) < 0 ||
        whole(r, COLUMN_BATCH, WHOLE_MAX, 1, &batch) < 0)
        return -1;
    if (row->dtype == SPECTER_DTYPE_UNKNOWN)
        return has(r, COLUMN_DTYPE)
                   ? refuse_value(r, false, "unknown dtype", field(r, COLUMN_DTYPE))
                   : refuse_column(r, COLUMN_DTYPE);
    row->m = (uint64_t)m;
    row->n = (uint64_t)n;
    row->k = (uint64_t)k;
    row->batch = (uint64_t)batch;
    row->lib = keep(r, COLUMN_LIB);
    if (cache[0] != '\0' && strcasecmp(cache, "cold") != 0 && strcasecmp(cache, "hot") != 0)
        return refuse_value(r, true, "unusable cache", cache);
    row->cache = cache[0] == '\0'                ? GEMM_CACHE_UNTOLD
                 : strcasecmp(cache, "hot") == 0 ? GEMM_CACHE_HOT
                                                 : GEMM_CACHE_COLD;
    /* 1 TFLOPS is 1e6 FLOPs/us. */
    return parse_time(r, row, COLUMN_TFLOPS, 2 * m * n * k * batch / 1e6);
}

static int (*const parsers[MEASURED_KINDS])(struct measured_reader *, struct measured_row *) = {
    parse_collective,
    parse_p2p,
    parse_gemm,
};

/* The version of "2.28.9" or "NCCL 2.28.9", the latter also in the column of libraries that
 * `specter bench` writes. -1: the column of versions has another text. */
static int parse_nccl(struct measured_reader *r, struct measured_row *row)
{
    const char *text = field(r, COLUMN_NCCL);
    row->nccl = specter_nccl_version_parse(text);
    if (row->nccl == 0)
        row->nccl = specter_nccl_version_of_library(text);
    if (row->nccl == 0 && text[0] != '\0' && strncmp(text, "RCCL", 4) != 0)
        return refuse_value(r, false, "unknown nccl_version", text);
    if (row->nccl == 0)
        row->nccl = specter_nccl_version_of_library(field(r, COLUMN_LIBRARY));
    return 0;
}

int measured_row_parse(struct measured_reader *r, struct measured_row *row)
{
    /* "run3.csv" of "bench/run3.csv": who measured, where no column says it. */
    const char *slash = strrchr(r->path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : r->path;
    double wrong; /* elements, as `specter bench report` tells */
    *row = (struct measured_row){.kind = r->kind, .file = r->path};
    row->notes = keep(r, COLUMN_NOTES);
    if (strcasestr(row->notes, "doubtful") != NULL)
        return refuse(r, false, "marked doubtful");
    if (opt_parse_double("", field(r, COLUMN_WRONG), &wrong, NULL) == 0 && wrong > 0)
        return refuse(r, false, "the result was wrong");
    if (find_profiles(r, row) < 0)
        return -1;
    row->source = has(r, COLUMN_SOURCE) ? keep(r, COLUMN_SOURCE)
                                        : intern_add(&r->m->names, base, strlen(base));
    row->dtype = measured_dtype(field(r, COLUMN_DTYPE));
    row->lib = "";
    /* The choice that the run forced on NCCL: without it, a ring that was asked for would be held
     * against NVLS. */
    row->forced.algo = forced(r, COLUMN_ALGO, "NCCL_ALGO=", measured_algo);
    row->forced.proto = forced(r, COLUMN_PROTO, "NCCL_PROTO=", measured_proto);
    row->no_nvls = strstr(row->notes, "NCCL_NVLS_ENABLE=0") != NULL ||
                   strstr(row->notes, "NVLS off") != NULL ||
                   strcasestr(row->notes, "NCCL_ALGO=^NVLS") != NULL ||
                   strcasecmp(field(r, COLUMN_ALGO), "^NVLS") == 0;
    if (r->kind == MEASURED_COLLECTIVE && parse_nccl(r, row) < 0)
        return -1;
    return parsers[r->kind](r, row);
}

int measured_overlap_parse(struct measured_reader *r, struct measured_overlap *row)
{
    const char *bound = field(r, COLUMN_BOUND);
    double channels;
    *row = (struct measured_overlap){.memory = strcmp(bound, "memory-bound") == 0};
    if (measured_row_parse(r, &row->of) < 0 || number(r, COLUMN_GEMM_ALONE, &row->gemm_us) < 0 ||
        number(r, COLUMN_GEMM_BESIDE, &row->gemm_beside_us) < 0)
        return -1;
    if (!row->memory && strcmp(bound, "compute-bound") != 0)
        return refuse_value(r, true, "unusable bound", bound);
    if (strcmp(field(r, COLUMN_CHANNELS), "0") == 0)
        return 0;
    if (whole(r, COLUMN_CHANNELS, INT_MAX, 0, &channels) < 0)
        return -1;
    row->channels = (int)channels;
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "calib/measured.h"

#include "base/opt.h"
#include "base/stream.h"
#include "calib/csv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- one line of a table, by the columns of its header ----
 *
 * To add a column: its line below, its use in one of the parsers. To add a spelling of a value:
 * measured_names.c.
 *
 * X(id, name in the header) */
#define MEASURED_COLUMNS(X)          \
    X(SOURCE, "source_id")           \
    X(GPU, "gpu_profile")            \
    X(DEVICE, "gpu")                 \
    X(NETWORK, "network_profile")    \
    X(NOTES, "notes")                \
    X(TIME, "time_us")               \
    X(DTYPE, "dtype")                \
    X(COLLECTIVE, "collective")      \
    X(TEST, "test")                  \
    X(DIRECTION, "direction")        \
    X(BYTES, "bytes")                \
    X(NODES, "nodes")                \
    X(RANKS, "ranks")                \
    X(PER_NODE, "gpus_per_node")     \
    X(ALGO, "nccl_algo")             \
    X(PROTO, "nccl_proto")           \
    X(ALGBW, "algbw_GBps")           \
    X(BUSBW, "busbw_GBps")           \
    X(BW, "bw_GBps")                 \
    X(M, "m")                        \
    X(N, "n")                        \
    X(K, "k")                        \
    X(BATCH, "batch")                \
    X(TFLOPS, "tflops")              \
    X(LIB, "lib")                    \
    X(CACHE, "cache")                \
    X(MODEL, "model")                \
    X(CHANNELS, "channels")          \
    X(BOUND, "bound")                \
    X(GEMM_ALONE, "gemm_us")         \
    X(GEMM_BESIDE, "gemm_beside_us") \
    X(COMM_ALONE, "collective_us")   \
    X(ITERATION, "iter_time_s")      \
    X(WRONG, "wrong")                \
    X(TOKENS, "tokens_per_s_per_gpu")

enum measured_column {
#define X(id, name) COLUMN_##id,
    MEASURED_COLUMNS(X)
#undef X
        COLUMN_COUNT
};

/* A table being read. */
struct measured_reader {
    struct measured *m;
    const struct measured_opts *opts;
    const char *path; /* interned */
    enum measured_kind kind;
    bool overlap;                       /* of a collective with GEMMs beside it */
    int place[COLUMN_COUNT];            /* of each column among the fields; -1: not in the header */
    const char *fields[CSV_FIELDS_MAX]; /* without spaces around; "" where a value is missing */
    struct buf reason;                  /* why the row at hand is skipped */
    bool damaged;
};

#define WHOLE_MAX 9007199254740992.0 /* 2^53: up to here a double counts single ones */
#define TIME_MIN 1e-3                /* us: a clock of a GPU ticks no faster */
#define TIME_MAX 1e12                /* us: twelve days */
#define SHOWN_MAX 40                 /* characters of a value in a reason */

static const char *const column_names[COLUMN_COUNT] = {
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
        buf_printf(&r->reason, "no %s", column_names[column]);
    else
        buf_printf(&r->reason, "unusable %s", column_names[column]);
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

/* Fills *row from r->fields. 0, or -1 with r->reason and r->damaged filled. */
static int parse_row(struct measured_reader *r, struct measured_row *row)
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
    return parsers[r->kind](r, row);
}

static int parse_overlap(struct measured_reader *r, struct measured_overlap *row)
{
    const char *bound = field(r, COLUMN_BOUND);
    double channels;
    *row = (struct measured_overlap){.memory = strcmp(bound, "memory-bound") == 0};
    if (parse_row(r, &row->of) < 0 || number(r, COLUMN_GEMM_ALONE, &row->gemm_us) < 0 ||
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

#define NOT_TABLE 1
#define FILE_MAX ((size_t)1 << 30) /* bytes of one table, inflated */

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *measured_kind_name(enum measured_kind kind)
{
    static const char *const names[] = {"collective", "p2p", "gemm"};
    return (size_t)kind < COUNT(names) ? names[kind] : "all";
}

void measured_init(struct measured *m)
{
    memset(m, 0, sizeof *m);
    arena_init(&m->arena);
    intern_init(&m->names, &m->arena);
}

void measured_release(struct measured *m)
{
    intern_release(&m->names);
    arena_release(&m->arena);
    free(m->rows);
    free(m->overlaps);
    free(m->skips);
    free(m->files);
}

void measured_skip(struct measured *m, const char *file, size_t line, bool damaged,
                   const char *reason)
{
    ARRAY_GROW(m->skips, m->cap_skips, m->nskips + 1);
    m->skips[m->nskips++] = (struct measured_skip){
        .file = file,
        .line = line,
        .reason = intern_add(&m->names, reason, strlen(reason)),
        .damaged = damaged,
    };
}

static void add_file(struct measured *m, const char *path, const char *why)
{
    ARRAY_GROW(m->files, m->cap_files, m->nfiles + 1);
    m->files[m->nfiles++] = (struct measured_file){path, why};
}

/* Columns that make a table one of a kind: all that it needs, and one that gives the time. The
 * first kind that fits is taken. */
static const struct table_kind {
    enum measured_kind kind;
    enum measured_column needs[4], times[3];
    size_t nneeds, ntimes;
} kinds[] = {
    {MEASURED_GEMM,
     {COLUMN_M, COLUMN_N, COLUMN_K, COLUMN_DTYPE},
     {COLUMN_TIME, COLUMN_TFLOPS},
     4,
     2},
    {MEASURED_COLLECTIVE,
     {COLUMN_COLLECTIVE, COLUMN_BYTES, COLUMN_RANKS},
     {COLUMN_TIME, COLUMN_ALGBW, COLUMN_BUSBW},
     3,
     3},
    {MEASURED_P2P, {COLUMN_TEST, COLUMN_BYTES}, {COLUMN_TIME, COLUMN_BW}, 2, 2},
};

/* The first place of this name in a header; -1: none. Case, and spaces around a name, do not
 * matter. */
static int find_column(const struct csv *c, const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < c->count; i++) {
        const char *text = c->fields[i] + strspn(c->fields[i], " ");
        if (strncasecmp(text, name, len) == 0 && text[len + strspn(text + len, " ")] == '\0')
            return (int)i;
    }
    return -1;
}

static void find_columns(struct measured_reader *r, const struct csv *c)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        r->place[column] = find_column(c, column_names[column]);
    if (r->place[COLUMN_COLLECTIVE] < 0) /* as `specter bench report --format csv` calls it */
        r->place[COLUMN_COLLECTIVE] = find_column(c, "op");
}

static bool is_kind(const struct measured_reader *r, const struct table_kind *kind)
{
    for (size_t i = 0; i < kind->nneeds; i++) {
        if (r->place[kind->needs[i]] < 0)
            return false;
    }
    for (size_t i = 0; i < kind->ntimes; i++) {
        if (r->place[kind->times[i]] >= 0)
            return true;
    }
    return false;
}

/* The header's columns, and the kind of table that they make. 0; -1 with e filled: none; NOT_TABLE
 * with e filled: samples over time. */
static int read_header(struct measured_reader *r, struct csv *c, struct err *e)
{
    bool is_samples = false;
    if (!csv_next(c))
        return err_set(e, ERR_INPUT, "%s: empty", r->path);
    if (c->problem != NULL)
        return err_set(e, ERR_INPUT, "%s:%zu: no usable header: %s", r->path, c->line, c->problem);
    find_columns(r, c);
    /* A table of collectives with GEMMs beside them: its time is that of the collective alone. */
    r->overlap = r->place[COLUMN_GEMM_BESIDE] >= 0 && r->place[COLUMN_COMM_ALONE] >= 0 &&
                 r->place[COLUMN_TIME] < 0;
    if (r->overlap)
        r->place[COLUMN_TIME] = r->place[COLUMN_COMM_ALONE];
    for (size_t i = r->overlap; i < COUNT(kinds); i++) { /* which has the GEMM's columns, too */
        if (is_kind(r, &kinds[i])) {
            r->kind = kinds[i].kind;
            return 0;
        }
    }
    /* The other files of specter bench: temperatures and clocks over time. */
    for (size_t i = 0; i < c->count; i++)
        is_samples = is_samples || strcmp(c->fields[i], "elapsed_s") == 0;
    if (r->place[COLUMN_ITERATION] >= 0 || r->place[COLUMN_TOKENS] >= 0)
        err_set(e, ERR_INPUT,
                "%s:%zu: a table of training runs; what is compared here are single "
                "operations (collectives, p2p, gemm)",
                r->path, c->line);
    else
        err_set(e, ERR_INPUT,
                "%s:%zu: no usable header: collectives have the columns collective, bytes, "
                "ranks and time_us; p2p test, bytes and time_us; gemm m, n, k, dtype and "
                "time_us; all of them gpu_profile, and network_profile but for gemm",
                r->path, c->line);
    return is_samples ? NOT_TABLE : -1;
}

/* Returns whether a program writes so that it has no value. */
static bool is_missing(const char *text)
{
    static const char *const words[] = {"", "-", "nan", "na", "n/a", "null", "none"};
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcasecmp(words[i], text) == 0)
            return true;
    }
    return false;
}

/* Spaces around a value are no part of it, and some programs have a word for none. */
static void take_fields(struct measured_reader *r, const struct csv *c)
{
    for (size_t i = 0; i < c->count; i++) {
        char *text = c->fields[i] + strspn(c->fields[i], " \t");
        size_t len = strlen(text);
        while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
            len--;
        text[len] = '\0';
        r->fields[i] = is_missing(text) ? "" : text;
    }
}

static void read_row(struct measured_reader *r, const struct csv *c, size_t width)
{
    struct measured *m = r->m;
    struct measured_row row;
    buf_reset(&r->reason);
    r->damaged = true;
    if (c->problem != NULL) {
        buf_puts(&r->reason, c->problem);
    } else if (c->count != width) {
        buf_printf(&r->reason, "%zu fields where the header has %zu", c->count, width);
    } else {
        take_fields(r, c);
        if (r->overlap) {
            ARRAY_GROW(m->overlaps, m->cap_overlaps, m->noverlaps + 1);
            if (parse_overlap(r, &m->overlaps[m->noverlaps]) == 0) {
                m->overlaps[m->noverlaps++].of.line = c->line;
                return;
            }
        } else if (parse_row(r, &row) == 0) {
            row.line = c->line;
            ARRAY_GROW(m->rows, m->cap_rows, m->nrows + 1);
            m->rows[m->nrows++] = row;
            return;
        }
    }
    measured_skip(m, r->path, c->line, r->damaged, r->reason.data);
}

static int read_table(struct measured *m, const char *path, const struct measured_opts *opts,
                      const struct buf *text, struct err *e)
{
    struct measured_reader r = {.m = m, .opts = opts, .path = path, .reason = BUF_INIT};
    struct csv c;
    size_t width;
    int status;
    csv_init(&c, text->data, text->len);
    while (c.p < c.end && *c.p == '#') { /* in front of the header: notes to the reader */
        const char *newline = memchr(c.p, '\n', (size_t)(c.end - c.p));
        c.p = newline != NULL ? newline + 1 : c.end;
        c.next_line++;
    }
    status = read_header(&r, &c, e);
    width = c.count;
    while (status == 0 && csv_next(&c))
        read_row(&r, &c, width);
    csv_release(&c);
    buf_release(&r.reason);
    return status;
}

static int read_file(struct measured *m, const char *path, const struct measured_opts *opts,
                     struct err *e)
{
    struct buf text = BUF_INIT, shown = BUF_INIT;
    int status = stream_read_file(path, FILE_MAX, &text, e);
    buf_put_printable(&shown, path, strlen(path));
    path = intern_add(&m->names, shown.data, shown.len);
    if (status == 0)
        status = read_table(m, path, opts, &text, e);
    if (status == 0)
        add_file(m, path, NULL);
    buf_release(&shown);
    buf_release(&text);
    return status;
}

static int is_table(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 4 && strcmp(entry->d_name + len - 4, ".csv") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* A file of a folder may be of another kind; it is then named with the reason. */
static int read_folder(struct measured *m, const char *path, const struct measured_opts *opts,
                       struct err *e)
{
    const char *slash = path[0] != '\0' && path[strlen(path) - 1] == '/' ? "" : "/";
    struct dirent **entries;
    struct err why = {.code = ERR_NONE};
    int n = scandir(path, &entries, is_table, by_name), usable = 0;
    if (n < 0)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(&m->arena, "%s%s%s", path, slash, entries[i]->d_name);
        int status = read_file(m, name, opts, &why);
        usable += status == 0;
        if (status < 0)
            add_file(m, name, arena_strdup(&m->arena, why.msg));
        free(entries[i]);
    }
    free(entries);
    if (usable > 0)
        return 0;
    if (n > 0)
        return err_set(e, ERR_INPUT, "%s: no usable table: %s", path, why.msg);
    return err_set(e, ERR_INPUT, "%s: no *.csv in this folder", path);
}

int measured_read(struct measured *m, const char *path, const struct measured_opts *opts,
                  struct err *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_folder(m, path, opts, e);
    return read_file(m, path, opts, e) == 0 ? 0 : -1;
}

static bool measured_same(const struct measured_row *a, const struct measured_row *b)
{
    if (a->kind != b->kind || a->gpu != b->gpu || a->net != b->net || a->dtype != b->dtype)
        return false;
    if (a->kind == MEASURED_GEMM)
        return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch &&
               a->cache == b->cache && strcmp(a->lib, b->lib) == 0;
    return a->op == b->op && a->bytes == b->bytes && a->no_nvls == b->no_nvls &&
           a->direction == b->direction && memcmp(&a->where, &b->where, sizeof a->where) == 0 &&
           memcmp(&a->forced, &b->forced, sizeof a->forced) == 0;
}

struct measured_pair measured_contradiction(const struct measured_row *rows, size_t n)
{
    struct measured_pair most = {NULL, NULL, 1};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct measured_row *slow = &rows[i], *fast = &rows[k];
            if (slow->time_us < fast->time_us) {
                slow = &rows[k];
                fast = &rows[i];
            }
            if (slow->time_us > most.ratio * fast->time_us && measured_same(slow, fast))
                most = (struct measured_pair){slow, fast, slow->time_us / fast->time_us};
        }
    }
    return most;
}

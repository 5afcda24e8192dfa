/* SPDX-License-Identifier: MIT */
#include "bench/read.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/stream.h"
#include "calib/csv.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX ((size_t)4 << 30)
#define RANKS_MAX 1024
#define BYTES_MAX (INT64_C(1) << 40)
#define NOTES_MAX 5        /* rows of a file that are named */
#define RATE_MAX_GBPS 2000 /* of one direction between two GPUs: more is no transfer */

/* ---- tables ---- */

/* X(name): columns of the logs and of the drift. */
#define COLUMNS(X)        \
    X(mode)               \
    X(config_id)          \
    X(src)                \
    X(dst)                \
    X(size)               \
    X(repetition)         \
    X(timestamp_start_ns) \
    X(duration_ns)        \
    X(send_ns)            \
    X(receive_ns)         \
    X(exchange_ns)        \
    X(two_sided_ns)       \
    X(temperature)        \
    X(rank)               \
    X(elapsed_s)          \
    X(gpu_ahead_us)       \
    X(host_ahead_us)

enum column {
#define X(name) COLUMN_##name,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
};

static const char *const column_names[COLUMN_COUNT] = {
#define X(name) #name,
    COLUMNS(X)
#undef X
};

struct p2p_table {
    struct bench_result *result;
    char path[4200];
    struct buf text;
    struct csv csv;
    int at[COLUMN_COUNT]; /* -1: not there */
    size_t bad;
};

static bool has_column(const struct p2p_table *t, enum column c)
{
    return t->at[c] >= 0;
}

static const char *field(const struct p2p_table *t, enum column c)
{
    int at = t->at[c];
    return at >= 0 && (size_t)at < t->csv.count ? t->csv.fields[at] : "";
}

static void pass_over(struct p2p_table *t, const char *why)
{
    t->result->damaged = true;
    if (t->bad++ < NOTES_MAX)
        bench_note(t->result, t->path, t->csv.line, "%s: the row is passed over", why);
}

/* 0; 1: there is no such file; -1 with e filled. */
static int open_table(struct p2p_table *t, struct bench_result *result, const char *folder,
                      const char *name, struct err *e)
{
    struct stat st;
    *t = (struct p2p_table){.result = result, .text = BUF_INIT};
    snprintf(t->path, sizeof t->path, "%s/%s", folder, name);
    if (stat(t->path, &st) != 0)
        return 1;
    if (stream_read_file(t->path, FILE_MAX, &t->text, e) < 0)
        return -1;
    csv_init(&t->csv, t->text.data, t->text.len);
    for (int c = 0; c < COLUMN_COUNT; c++)
        t->at[c] = -1;
    if (!csv_next(&t->csv) || t->csv.problem != NULL)
        return err_set(e, ERR_INPUT, "%s: no line of column names", t->path);
    for (size_t i = 0; i < t->csv.count; i++) {
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (strcmp(t->csv.fields[i], column_names[c]) == 0)
                t->at[c] = (int)i;
        }
    }
    return 0;
}

static void close_table(struct p2p_table *t)
{
    if (t->bad > NOTES_MAX)
        bench_note(t->result, t->path, 1, "%zu more rows are passed over", t->bad - NOTES_MAX);
    csv_release(&t->csv);
    buf_release(&t->text);
}

/* The next row with as many fields as the header; those without are noted. */
static bool next_row(struct p2p_table *t, size_t columns)
{
    while (csv_next(&t->csv)) {
        if (t->csv.problem != NULL)
            pass_over(t, t->csv.problem);
        else if (t->csv.count != columns)
            pass_over(t, "not as many fields as columns");
        else
            return true;
    }
    return false;
}

static bool whole(const struct p2p_table *t, enum column c, int64_t least, int64_t most,
                  int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(field(t, c), &end, 10);
    return end != field(t, c) && *end == '\0' && errno == 0 && *out >= least && *out <= most;
}

static bool real(const struct p2p_table *t, enum column c, double *out)
{
    char *end;
    *out = strtod(field(t, c), &end);
    return end != field(t, c) && *end == '\0' && isfinite(*out);
}

/* ---- logs ---- */

/* A repetition, and its configuration. */
struct read_repeat {
    struct bench_p2p_config config;
    struct bench_p2p_repeat repeat;
    double celsius;
    uint32_t at; /* the configuration's number */
};

struct entries {
    struct read_repeat *list;
    size_t n, cap;
};

/* ns as a file has them; NAN: none. */
static double time_of(const struct p2p_table *t, enum column c)
{
    double ns;
    return real(t, c, &ns) ? bench_p2p_us(ns) : (double)NAN;
}

static bool read_config(const struct p2p_table *t, struct bench_p2p_config *c, enum column *wrong)
{
    int64_t id = 0, src = -1, dst = -1, size;
    c->mode = BENCH_P2P_ONE_WAY;
    *wrong = COLUMN_mode;
    if (has_column(t, COLUMN_mode)) {
        int m = 0;
        while (m < BENCH_P2P_MODES && strcmp(field(t, COLUMN_mode), bench_p2p_mode_name(m)) != 0)
            m++;
        if (m == BENCH_P2P_MODES)
            return false;
        c->mode = (enum bench_p2p_mode)m;
    }
    *wrong = COLUMN_config_id;
    if (!whole(t, COLUMN_config_id, 0, INT32_MAX, &id))
        return false;
    *wrong = COLUMN_src;
    if (c->mode != BENCH_P2P_ALL && !whole(t, COLUMN_src, 0, RANKS_MAX - 1, &src))
        return false;
    *wrong = COLUMN_dst;
    if (c->mode != BENCH_P2P_ALL && (!whole(t, COLUMN_dst, 0, RANKS_MAX - 1, &dst) || dst == src))
        return false;
    *wrong = COLUMN_size;
    if (!whole(t, COLUMN_size, 1, BYTES_MAX, &size))
        return false;
    c->id = (int)id;
    c->src = (int)src;
    c->dst = (int)dst;
    c->bytes = (uint64_t)size;
    return true;
}

/* The column that has the time of a message. */
static enum column time_column(const struct p2p_table *t, enum bench_p2p_mode mode)
{
    enum column best = mode == BENCH_P2P_ONE_WAY ? COLUMN_two_sided_ns : COLUMN_exchange_ns;
    return has_column(t, best) ? best : COLUMN_duration_ns;
}

static bool read_entry(const struct p2p_table *t, struct read_repeat *out, enum column *wrong)
{
    struct bench_p2p_repeat *r = &out->repeat;
    enum column c;
    *out = (struct read_repeat){0};
    if (!read_config(t, &out->config, wrong))
        return false;
    c = time_column(t, out->config.mode);
    *wrong = c;
    r->time = time_of(t, c);
    if (!(r->time > 0) || r->time > 1e12)
        return false;
    if (!real(t, COLUMN_temperature, &out->celsius))
        out->celsius = (double)NAN;
    r->exchange = time_of(t, COLUMN_exchange_ns);
    r->send = time_of(t, COLUMN_send_ns);
    r->receive = time_of(t, COLUMN_receive_ns);
    if (out->config.mode == BENCH_P2P_PING_PONG && c == COLUMN_exchange_ns)
        r->time = r->exchange / 2;
    (void)whole(t, COLUMN_timestamp_start_ns, 0, INT64_MAX, &r->start_ns);
    return true;
}

/* Modes in the order of measuring, their configurations in that of their first row, repetitions in
 * that of the rows. */
static void add_entries(const struct entries *all, struct bench_p2p_log *log)
{
    struct idmap configs = {0};
    size_t *counts = array_new(all->n, sizeof *counts), nconfigs = 0, before = log->n;
    for (int mode = 0; mode < BENCH_P2P_MODES; mode++) {
        for (size_t i = 0; i < all->n; i++) {
            struct read_repeat *entry = &all->list[i];
            const struct bench_p2p_config *c = &entry->config;
            const uint64_t key[] = {(uint64_t)c->mode, (uint64_t)c->id, (uint64_t)c->src,
                                    (uint64_t)c->dst, c->bytes};
            if (c->mode != (enum bench_p2p_mode)mode)
                continue;
            entry->at = idmap_add(&configs, (int64_t)hash_bytes(HASH_BYTES, key, sizeof key));
            if (counts[entry->at]++ == 0)
                bench_p2p_log_add(log, c, 0);
            nconfigs += entry->at == nconfigs;
        }
    }
    for (size_t k = 0; k < nconfigs; k++) {
        struct bench_p2p_done *d = &log->list[before + k];
        free(d->repeats);
        d->repeats = array_new(counts[k], sizeof *d->repeats);
    }
    for (size_t i = 0; i < all->n; i++) {
        struct bench_p2p_done *d = &log->list[before + all->list[i].at];
        d->repeats[d->nrepeats++] = all->list[i].repeat;
        d->celsius = all->list[i].celsius;
    }
    idmap_release(&configs);
    free(counts);
}

static void note_times(struct p2p_table *t, const struct entries *all, size_t first)
{
    double fastest = 0;
    if (has_column(t, COLUMN_two_sided_ns))
        return;
    for (size_t i = first; i < all->n; i++)
        fastest = fmax(fastest, (double)all->list[i].config.bytes / all->list[i].repeat.time / 1e3);
    if (fastest > RATE_MAX_GBPS)
        bench_note(t->result, t->path, 1,
                   "up to %.0f GB/s by duration_ns: a call that returns before its data has moved",
                   fastest);
    else
        bench_note(t->result, t->path, 1, "times are duration_ns, by one host's clock");
}

static int read_log(struct bench_p2p_files *f, const char *folder, bool one_way,
                    struct entries *all, struct err *e)
{
    const char *name = one_way ? "execution_log.csv" : "exchange_log.csv";
    size_t columns, before = all->n;
    struct p2p_table t;
    int status = open_table(&t, &f->result, folder, name, e);
    if (status > 0)
        status = one_way ? err_set(e, ERR_INPUT, "%s: no execution_log.csv in it", folder) : 0;
    else if (status == 0 &&
             (!has_column(&t, COLUMN_src) || !has_column(&t, COLUMN_dst) ||
              !has_column(&t, COLUMN_size) || !has_column(&t, time_column(&t, BENCH_P2P_ONE_WAY))))
        status = err_set(e, ERR_INPUT, "%s:1: no columns src, dst, size and duration_ns", t.path);
    columns = t.csv.count;
    while (status == 0 && t.csv.p != NULL && next_row(&t, columns)) {
        struct read_repeat entry;
        enum column wrong;
        if (!read_entry(&t, &entry, &wrong)) {
            char why[128];
            snprintf(why, sizeof why, "%s '%.64s' is not usable", column_names[wrong],
                     field(&t, wrong));
            pass_over(&t, why);
            continue;
        }
        ARRAY_GROW(all->list, all->cap, all->n + 1);
        all->list[all->n++] = entry;
    }
    if (status == 0 && one_way && all->n > before)
        note_times(&t, all, before);
    close_table(&t);
    return status;
}

/* ---- clocks and temperatures ---- */

/* Rows come by moment, then rank. */
static int read_drift(struct bench_p2p_files *f, const char *folder, int after, struct err *e)
{
    struct bench_drift_log *log = &f->drift[after];
    struct p2p_table t;
    size_t columns, rows = 0, at = 0;
    int status =
        open_table(&t, &f->result, folder, after ? "drift_after.csv" : "drift_before.csv", e);
    log->ranks = f->log.ranks;
    columns = t.csv.count;
    while (status == 0 && next_row(&t, columns)) {
        struct bench_drift_point gpu, host;
        int64_t rank;
        if (!whole(&t, COLUMN_rank, 0, log->ranks - 1, &rank) ||
            rank != (int64_t)(rows % (size_t)log->ranks) || !real(&t, COLUMN_elapsed_s, &gpu.s) ||
            !real(&t, COLUMN_gpu_ahead_us, &gpu.us) || !real(&t, COLUMN_host_ahead_us, &host.us)) {
            pass_over(&t, "not usable");
            break;
        }
        host.s = gpu.s;
        if (rank == 0)
            at = bench_drift_log_add(log);
        log->gpu[at + (size_t)rank] = gpu;
        log->host[at + (size_t)rank] = host;
        rows++;
    }
    if (log->ranks > 0)
        log->n = rows / (size_t)log->ranks; /* whole moments */
    close_table(&t);
    return status < 0 ? -1 : 0;
}

static int read_temperatures(struct bench_p2p_files *f, const char *folder, int nodes,
                             struct err *e)
{
    f->gpus = array_new((size_t)nodes * BENCH_WATCH_GPUS, sizeof *f->gpus);
    for (int node = 0; node < nodes; node++) {
        struct bench_temperatures t;
        struct stat st;
        char path[4200];
        if (node == 0)
            snprintf(path, sizeof path, "%s/temperatures.csv", folder);
        else
            snprintf(path, sizeof path, "%s/temperatures_node%d.csv", folder, node);
        if (stat(path, &st) != 0)
            continue;
        if (bench_temperatures_read(&t, path, e) < 0)
            return -1;
        if (t.bad > 0)
            bench_note(&f->result, path, 1, "%zu rows are passed over", t.bad);
        f->result.damaged |= t.bad > 0;
        f->ngpus += bench_temperatures_sum_up(&t, node, f->gpus + f->ngpus);
        if (node == 0)
            f->temperatures = t;
        else
            bench_temperatures_release(&t);
    }
    return 0;
}

/* ---- metadata ---- */

/* The values of a metadata_rank_<N>.yml. */
struct metadata {
    int world, node, nodes, per_node;
    const char *host, *gpu, *backend, *library;
};

/* A value of YAML as we write it, without its quotes: the text in the place of `value`. */
static void unquote(char *value)
{
    char *to = value, *from = value;
    size_t len = strlen(value);
    if (len < 2 || value[0] != '\'' || value[len - 1] != '\'')
        return;
    value[len - 1] = '\0';
    for (from++; *from != '\0'; from++) {
        from += *from == '\'' && from[1] == '\'';
        *to++ = *from;
    }
    *to = '\0';
}

static void take_key(struct bench_p2p_files *f, struct metadata *m, const char *key,
                     const char *value)
{
    struct {
        const char *key;
        int *to;
    } const numbers[] = {{"world_size", &m->world},   {"node", &m->node},
                         {"nodes", &m->nodes},        {"gpus_per_node", &m->per_node},
                         {"warmup", &f->plan.warmup}, {"repetitions", &f->plan.repeat}};
    struct {
        const char *key;
        const char **to;
    } const texts[] = {{"hostname", &m->host},
                       {"gpu_name", &m->gpu},
                       {"backend", &m->backend},
                       {"library", &m->library}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const long number = strtol(value, NULL, 10);
        if (strcmp(key, numbers[i].key) == 0) /* an odd value counts as 0 */
            *numbers[i].to = number > 0 && number <= INT_MAX ? (int)number : 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(key, texts[i].key) == 0)
            *texts[i].to = bench_keep(&f->result, value, strlen(value));
    }
    if (strcmp(key, "seed") == 0)
        f->plan.seed = strtoull(value, NULL, 10);
    else if (strcmp(key, "complete") == 0)
        f->complete = strcmp(value, "false") != 0;
    if (strcmp(key, "sizes") != 0)
        return;
    f->plan.nsizes = 0;
    for (const char *p = strpbrk(value, "0123456789");
         p != NULL && f->plan.nsizes < BENCH_P2P_SIZES_MAX; p = strpbrk(p, "0123456789")) {
        char *end;
        f->sizes[f->plan.nsizes++] = strtoull(p, &end, 10);
        p = end;
    }
}

/* Settings and notes are rank 0's. Returns whether there is such a file. */
static bool read_metadata(struct bench_p2p_files *f, const char *folder, int rank,
                          struct metadata *m)
{
    char path[4200], section[64] = ""; /* section: the last key in front of indented lines */
    struct buf text = BUF_INIT;
    char *save = NULL;
    *m = (struct metadata){.node = -1, .host = "", .gpu = "", .backend = "", .library = ""};
    snprintf(path, sizeof path, "%s/metadata_rank_%d.yml", folder, rank);
    if (stream_read_file(path, (size_t)1 << 20, &text, NULL) < 0 || text.len == 0) {
        buf_release(&text);
        return false;
    }
    buf_putc(&text, '\0');
    for (char *line = strtok_r(text.data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        const bool indented = line[0] == ' ';
        char *key = line + strspn(line, " "), *value;
        if (indented && rank == 0 && strcmp(section, "notes") == 0 && strncmp(key, "- ", 2) == 0) {
            unquote(key + 2);
            bench_note(&f->result, "", 0, "%s", key + 2);
            continue;
        }
        value = strstr(key, indented ? "': " : ": ");
        if (!indented)
            snprintf(section, sizeof section, "%.*s", (int)strcspn(key, ":"), key);
        if (value == NULL)
            continue;
        *value = '\0';
        value += indented ? 3 : 2;
        unquote(value);
        if (!indented)
            take_key(f, m, key, value);
        else if (rank == 0 && strcmp(section, "settings") == 0 && key[0] == '\'')
            bench_setting_add(&f->result, f->run, key + 1, value);
    }
    buf_release(&text);
    return true;
}

/* By the rank's file, or its host there; where another node has the file, as ranks are dealt out.
 */
static int find_node(struct bench_p2p_files *f, const struct metadata *m, int rank)
{
    const struct layout *where = &f->run->where;
    if (m->node >= 0 && m->node < RANKS_MAX)
        return m->node;
    if (m->host[0] != '\0')
        return (int)bench_host_add(&f->result, f->run, m->host, strlen(m->host));
    return where->nodes > 1 && where->per_node > 0 ? rank / where->per_node : 0;
}

static void read_ranks(struct bench_p2p_files *f, const char *folder)
{
    struct metadata m;
    int nodes = 0, ranks = 0;
    bool complete = true;
    f->complete = true;
    for (size_t i = 0; i < f->log.n; i++) {
        const struct bench_p2p_config *c = &f->log.list[i].config;
        ranks = c->src >= ranks ? c->src + 1 : ranks;
        ranks = c->dst >= ranks ? c->dst + 1 : ranks;
    }
    f->node_of = array_new(RANKS_MAX, sizeof *f->node_of);
    for (int rank = 0; rank < ranks; rank++) {
        bool is_there = read_metadata(f, folder, rank, &m);
        if (rank == 0) {
            complete = f->complete;
            ranks = m.world > ranks && m.world <= RANKS_MAX ? m.world : ranks;
            f->run->gpu = m.gpu;
            f->run->backend = m.backend;
            f->run->library = m.library;
            f->run->where = (struct layout){ranks, m.nodes, m.per_node};
        }
        if (is_there && m.host[0] != '\0')
            bench_host_add(&f->result, f->run, m.host, strlen(m.host));
        f->node_of[rank] = find_node(f, &m, rank);
        nodes = f->node_of[rank] >= nodes ? f->node_of[rank] + 1 : nodes;
    }
    f->complete = complete; /* rank 0's: the others may have ended before it */
    f->log.ranks = ranks;
    if (f->run->where.nodes < 1 || f->run->where.nodes > ranks)
        f->run->where.nodes = nodes < ranks ? nodes : ranks;
    if (f->run->where.per_node < 1 || f->run->where.per_node > RANKS_MAX)
        f->run->where.per_node = (ranks + f->run->where.nodes - 1) / f->run->where.nodes;
}

/* Sizes that no metadata tell. */
static void find_sizes(struct bench_p2p_files *f)
{
    for (size_t i = 0; i < f->log.n && f->plan.nsizes < BENCH_P2P_SIZES_MAX; i++) {
        const struct bench_p2p_done *d = &f->log.list[i];
        bool known = d->config.mode != BENCH_P2P_ONE_WAY;
        for (size_t k = 0; k < f->plan.nsizes; k++)
            known |= f->sizes[k] == d->config.bytes;
        if (!known)
            f->sizes[f->plan.nsizes++] = d->config.bytes;
        if (f->plan.repeat < (int)d->nrepeats)
            f->plan.repeat = (int)d->nrepeats;
    }
}

/* ---- the folder ---- */

int bench_p2p_read(struct bench_p2p_files *f, const char *folder, struct err *e)
{
    struct entries all = {0};
    bool has_pair = false; /* without one the ranks are not known */
    int status;
    *f = (struct bench_p2p_files){0};
    bench_result_init(&f->result);
    f->run = bench_run_add(&f->result);
    f->run->file = bench_keep(&f->result, folder, strlen(folder));
    f->plan.sizes = f->sizes;
    status = read_log(f, folder, false, &all, e);
    if (status == 0)
        status = read_log(f, folder, true, &all, e);
    add_entries(&all, &f->log);
    free(all.list);
    if (status < 0)
        return -1;
    for (size_t i = 0; i < f->log.n; i++)
        has_pair |= f->log.list[i].config.src >= 0;
    if (!has_pair)
        return err_set(e, ERR_INPUT, "%s: no message in its logs%s%s", folder,
                       f->result.nnotes > 0 ? "; " : "",
                       f->result.nnotes > 0 ? f->result.notes[0] : "");
    read_ranks(f, folder);
    if (f->plan.nsizes == 0)
        find_sizes(f);
    for (int after = 0; after < 2; after++) {
        if (read_drift(f, folder, after, e) < 0)
            return -1;
    }
    return read_temperatures(f, folder, f->run->where.nodes, e);
}

void bench_p2p_files_release(struct bench_p2p_files *f)
{
    for (int after = 0; after < 2; after++)
        bench_drift_log_release(&f->drift[after]);
    bench_temperatures_release(&f->temperatures);
    bench_p2p_log_release(&f->log);
    bench_result_release(&f->result);
    free(f->node_of);
    free(f->gpus);
}

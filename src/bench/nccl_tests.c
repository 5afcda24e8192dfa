/* SPDX-License-Identifier: MIT
 *
 * The text of nccl-tests and rccl-tests, line by line. What is looked for is found anywhere in a
 * line, as launchers put prefixes before it ("[1,0]<stdout>:", "0: ") and some logs have lost the
 * leading #.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/stream.h"
#include "bench/read.h"
#include "bench/result.h"
#include "calib/measured.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX_BYTES ((size_t)64 << 10) /* a longer line is none of nccl-tests' */
#define NAME_MAX_LEN 200                  /* of a host, a GPU, a setting */
#define DAMAGE_SHOWN 4                    /* lines that are named; the rest is counted */
#define PREFIX_WORDS 4                    /* that a launcher may put before a row */
#define WORD_MAX 64                       /* a longer word is no number and no type */
#define GAP_MIN 24                   /* blanks of a part that was not measured; it is 32 wide */
#define BYTES_MAX 9007199254740992.0 /* 2^53: up to here a double counts single ones */
#define TIME_MAX 1e12                /* us: twelve days */
#define NCCL_TESTS_WORDS 64          /* of a line that are looked at */
#define RANK_MAX (1 << 20)           /* of ranks, devices, GPUs and threads of a process */

/* ---- the table ----
 *
 * A row as nccl-tests (src/util.cu) prints it, of all ranks together:
 *
 *     size count type redop root   time algbw busbw #wrong   time algbw busbw #wrong
 *      (B)                         out of place              in place
 *
 * Older versions lack root or redop, say `error` for #wrong and print no in-place part; the report
 * of single iterations (2.19 on) adds i_min i_max i_p99 i_cv% to either part, a bitwise comparison
 * #bitdiff before them; -T adds a time of day. The line of headings says which columns there are;
 * without one it follows from how many values stand after the type. */

/* A line's words: views into it, no terminator. */
struct nccl_tests_words {
    struct nccl_tests_word {
        const char *p;
        size_t len;
    } word[NCCL_TESTS_WORDS];
    size_t n;
};

/* X(id, heading) as they stand in the line of headings; the time of a run with -C is `cputime`. */
#define NCCL_TESTS_COLUMNS(X) \
    X(SIZE, "size")           \
    X(COUNT, "count")         \
    X(TYPE, "type")           \
    X(REDOP, "redop")         \
    X(ROOT, "root")           \
    X(TIME, "time")           \
    X(CPUTIME, "cputime")     \
    X(ALGBW, "algbw")         \
    X(BUSBW, "busbw")         \
    X(WRONG, "#wrong")        \
    X(ERROR, "error")         \
    X(BITDIFF, "#bitdiff")    \
    X(MIN, "i_min")           \
    X(MAX, "i_max")           \
    X(P99, "i_p99")           \
    X(CV, "i_cv%")

enum nccl_tests_column {
#define X(id, heading) NCCL_TESTS_##id,
    NCCL_TESTS_COLUMNS(X)
#undef X
        NCCL_TESTS_OTHER /* a heading of another program */
};

struct nccl_tests_columns {
    enum nccl_tests_column column[NCCL_TESTS_WORDS];
    size_t n;           /* 0: no line of headings came yet */
    bool in_place_only; /* the one part that there is */
};

enum nccl_tests_line {
    NCCL_TESTS_NO_ROW,
    NCCL_TESTS_ROW,
    NCCL_TESTS_EMPTY, /* of 0 bytes: fewer elements than ranks */
    NCCL_TESTS_CUT,   /* it begins like one; *why says what is wrong */
};

typedef struct nccl_tests_word word;

static const struct {
    const char *heading;
    enum nccl_tests_column column;
} headings[] = {
#define X(id, heading) {heading, NCCL_TESTS_##id},
    NCCL_TESTS_COLUMNS(X)
#undef X
};

/* Splits at spaces and tabs. */
static void split(const char *text, size_t len, struct nccl_tests_words *out)
{
    const char *end = text + len;
    out->n = 0;
    while (out->n < NCCL_TESTS_WORDS) {
        const char *start;
        while (text < end && isspace((unsigned char)*text))
            text++;
        start = text;
        while (text < end && !isspace((unsigned char)*text))
            text++;
        if (text == start)
            return;
        out->word[out->n++] = (word){start, (size_t)(text - start)};
    }
}

static bool is(const word *w, const char *text)
{
    return w->len == strlen(text) && strncasecmp(w->p, text, w->len) == 0;
}

/* Terminated, in buf; "" for one that is too long. */
static const char *text_of(const word *w, char buf[WORD_MAX])
{
    snprintf(buf, WORD_MAX, "%.*s", w->len < WORD_MAX ? (int)w->len : 0, w->p);
    return buf;
}

/* Reads a line of headings. False when it is none. */
static bool read_headings(const struct nccl_tests_words *words, struct nccl_tests_columns *out)
{
    size_t first = 0;
    bool timed = false;
    while (first < words->n && !is(&words->word[first], "size"))
        first++;
    if (words->n - first < 4 || !is(&words->word[first + 1], "count") ||
        !is(&words->word[first + 2], "type"))
        return false;
    out->n = 0;
    for (size_t i = first; i < words->n; i++) {
        enum nccl_tests_column column = NCCL_TESTS_OTHER;
        for (size_t k = 0; k < sizeof headings / sizeof *headings; k++) {
            if (is(&words->word[i], headings[k].heading))
                column = headings[k].column;
        }
        out->column[out->n++] = column;
        timed |= column == NCCL_TESTS_TIME || column == NCCL_TESTS_CPUTIME;
    }
    if (!timed)
        out->n = 0;
    return timed;
}

/* ---- one row ---- */

static bool number(const word *w, double *out)
{
    char buf[WORD_MAX];
    if (is(w, "N/A")) {
        *out = NAN;
        return true;
    }
    return opt_parse_double("", text_of(w, buf), out, NULL) == 0;
}

static bool whole(const word *w, uint64_t *out)
{
    double value;
    for (size_t i = 0; i < w->len; i++) {
        if (!isdigit((unsigned char)w->p[i]))
            return false;
    }
    if (w->len == 0 || !number(w, &value))
        return false;
    *out = value <= BYTES_MAX ? (uint64_t)value : UINT64_MAX;
    return true;
}

/* Where "size count type" stands; words->n: nowhere. */
static size_t find_start(const struct nccl_tests_words *words)
{
    char buf[WORD_MAX];
    uint64_t ignored;
    for (size_t i = 0; i <= PREFIX_WORDS && i + 2 < words->n; i++) {
        const word *w = &words->word[i];
        if (whole(&w[0], &ignored) && whole(&w[1], &ignored) &&
            measured_dtype(text_of(&w[2], buf)) != SPECTER_DTYPE_UNKNOWN)
            return i;
    }
    return words->n;
}

static void add(struct nccl_tests_columns *c, const enum nccl_tests_column *list, size_t n)
{
    memcpy(&c->column[c->n], list, n * sizeof *list);
    c->n += n;
}

/* Without a line of headings: a word that is no number is the operator, one value more than the
 * parts need is the root. */
static struct nccl_tests_columns guess_columns(const word *behind, size_t n)
{
    static const enum nccl_tests_column head[] = {NCCL_TESTS_SIZE, NCCL_TESTS_COUNT,
                                                  NCCL_TESTS_TYPE},
                                        redop[] = {NCCL_TESTS_REDOP}, root[] = {NCCL_TESTS_ROOT},
                                        part[] = {NCCL_TESTS_TIME, NCCL_TESTS_ALGBW,
                                                  NCCL_TESTS_BUSBW, NCCL_TESTS_WRONG},
                                        single[] = {NCCL_TESTS_MIN, NCCL_TESTS_MAX, NCCL_TESTS_P99,
                                                    NCCL_TESTS_CV};
    struct nccl_tests_columns c = {.n = 0};
    double ignored;
    size_t left = n;
    bool singles;
    add(&c, head, 3);
    if (left > 0 && !number(&behind[0], &ignored)) {
        add(&c, redop, 1);
        left--;
    }
    if (left % 4 == 1 || left % 4 == 3) { /* 3: a time of day is two words */
        add(&c, root, 1);
        left--;
    }
    singles = left >= 16; /* both parts, as 2.19 prints them */
    for (size_t i = 0; i < 2 && (i == 0 || left >= (singles ? 16 : 8)); i++) {
        add(&c, part, 4);
        if (singles)
            add(&c, single, 4);
    }
    return c;
}

static bool starts_part(enum nccl_tests_column column)
{
    return column == NCCL_TESTS_TIME || column == NCCL_TESTS_CPUTIME;
}

/* Where the parts of a row stand, in columns. */
struct nccl_tests_parts {
    size_t first, n; /* columns before the first part; 1 or 2 parts */
    size_t width;    /* that are read of a part: those of another program end it */
    size_t stride;   /* from part to part */
};

static struct nccl_tests_parts parts_of(const struct nccl_tests_columns *c)
{
    struct nccl_tests_parts p = {.width = 1};
    size_t second;
    while (p.first < c->n && !starts_part(c->column[p.first]))
        p.first++;
    for (second = p.first + 1; second < c->n && !starts_part(c->column[second]);)
        second++;
    p.n = second < c->n ? 2 : 1;
    p.stride = second - p.first;
    while (p.width < p.stride && c->column[p.first + p.width] != NCCL_TESTS_OTHER)
        p.width++;
    return p;
}

static bool read_head(const struct nccl_tests_columns *c, size_t n, const word *w,
                      struct bench_row *row)
{
    char buf[WORD_MAX];
    double root;
    for (size_t i = 0; i < n; i++) {
        if (c->column[i] == NCCL_TESTS_SIZE && !whole(&w[i], &row->bytes))
            return false;
        if (c->column[i] == NCCL_TESTS_COUNT && !whole(&w[i], &row->count))
            return false;
        if (c->column[i] == NCCL_TESTS_TYPE)
            row->dtype = measured_dtype(text_of(&w[i], buf));
        if (c->column[i] == NCCL_TESTS_REDOP) {
            row->redop = specter_redop_parse(text_of(&w[i], buf), strlen(text_of(&w[i], buf)));
            if (is(&w[i], "mulsum"))
                row->redop = SPECTER_REDOP_PREMUL;
        }
        if (c->column[i] == NCCL_TESTS_ROOT) {
            if (!number(&w[i], &root) || !(fabs(root) <= INT32_MAX))
                return false;
            row->root = (int)root;
        }
    }
    return true;
}

static bool read_part(const enum nccl_tests_column *column, size_t n, const word *w,
                      struct bench_row *row)
{
    double max;
    for (size_t i = 0; i < n; i++) {
        double *to = NULL;
        switch (column[i]) {
        case NCCL_TESTS_TIME:
        case NCCL_TESTS_CPUTIME:
            to = &row->time_us;
            break;
        case NCCL_TESTS_ALGBW:
            to = &row->algbw_GBps;
            break;
        case NCCL_TESTS_BUSBW:
            to = &row->busbw_GBps;
            break;
        case NCCL_TESTS_WRONG:
        case NCCL_TESTS_ERROR:
            to = &row->wrong;
            break;
        case NCCL_TESTS_MIN:
            to = &row->min_us;
            break;
        case NCCL_TESTS_P99:
            to = &row->p99_us;
            break;
        case NCCL_TESTS_CV:
            to = &row->cv;
            break;
        default:
            to = &max;
            break;
        }
        if (!number(&w[i], to))
            return false;
        if (column[i] == NCCL_TESTS_CV)
            row->cv /= 100;
        if (column[i] == NCCL_TESTS_ERROR) /* the largest deviation, not how many deviate */
            row->wrong = NAN;
    }
    return true;
}

static const char *check(const struct bench_row *row)
{
    if (row->bytes > (uint64_t)BYTES_MAX || row->count > (uint64_t)BYTES_MAX)
        return "the size is out of range";
    if (!(row->time_us > 0))
        return "the time is not above 0";
    if (row->time_us > TIME_MAX)
        return "the time is out of range";
    return NULL;
}

/* Adds the row or rows (out of place, in place) of a line. `words` may begin with a launcher's
 * prefix. */
static enum nccl_tests_line read_row(const struct nccl_tests_columns *columns,
                                     const struct nccl_tests_words *words, struct bench_run *run,
                                     size_t line, const char **why)
{
    const size_t start = find_start(words), before = run->nrows;
    const word *w = &words->word[start];
    const size_t n = words->n - start;
    enum nccl_tests_line kind = NCCL_TESTS_ROW;
    struct nccl_tests_columns guessed;
    struct nccl_tests_parts p;
    size_t have;
    bool blank;
    if (start == words->n)
        return NCCL_TESTS_NO_ROW;
    if (columns->n == 0) {
        guessed = guess_columns(&w[3], n - 3);
        columns = &guessed;
    }
    p = parts_of(columns);
    have = n < p.first + p.width ? 0 : (n - p.first - p.width) / p.stride + 1;
    /* A row that was measured in place alone has blanks in the place of the other part. */
    blank =
        have == 1 && p.n == 2 && w[p.first].p - (w[p.first - 1].p + w[p.first - 1].len) > GAP_MIN;
    for (size_t i = 0; i < have && i < p.n && kind == NCCL_TESTS_ROW; i++) {
        struct bench_row *row = bench_row_add(run);
        *why = NULL;
        if (!read_head(columns, p.first, w, row) ||
            !read_part(&columns->column[p.first], p.width, &w[p.first + i * p.stride], row))
            *why = "a value is no number";
        else if (row->bytes == 0)
            kind = NCCL_TESTS_EMPTY;
        else
            *why = check(row);
        if (*why != NULL)
            kind = NCCL_TESTS_CUT;
        row->line = line;
        row->in_place = i == 1 || blank || columns->in_place_only;
    }
    if (kind != NCCL_TESTS_ROW)
        run->nrows = before; /* neither part of it */
    if (kind == NCCL_TESTS_ROW && have < p.n && !blank) {
        *why = "the row is cut";
        return NCCL_TESTS_CUT; /* the part that is whole stands */
    }
    return kind;
}

/* ---- lines around it ---- */

struct nccl_tests_reader {
    struct bench_result *r;
    const char *file;
    size_t line, run; /* where it stands; the run that rows go to */
    struct nccl_tests_columns columns;
    const char *seen_program; /* in a command line before the header; "" */
    int group;                /* of the run's first rank */
    bool other_groups;        /* there are ranks of others: they are numbered together */
    int pid;                  /* of rank 0, */
    const char *host;         /* and its host; "" */
    int *on_host;             /* ranks of each host of the run; owned */
    size_t cap_on_host;
    bool *listed; /* by rank: the header names it; owned */
    size_t cap_listed;
    int nlisted, highest;     /* how many, and the largest */
    int per_process;          /* ranks of a process; 0: not told */
    int devices;              /* of a node: the largest device number + 1 */
    bool alone;               /* several processes have a rank 0 */
    bool begun, ended;        /* the header's first and last line came */
    size_t empty, empty_line; /* rows of 0 bytes, and where the first stands */
    size_t damaged;
    struct buf text; /* of the line, terminated; owned */
};

static struct bench_run *run_of(struct nccl_tests_reader *rd)
{
    return &rd->r->runs[rd->run];
}

/* Drops what rank lines said, for those of another header; program and library were named before
 * it.
 */
static void forget_ranks(struct nccl_tests_reader *rd)
{
    struct bench_run *run = run_of(rd);
    run->where = (struct layout){0, 0, 0};
    run->nhosts = 0;
    run->gpu = run->other_gpu = "";
    rd->group = -1;
    rd->pid = 0;
    rd->host = "";
    rd->other_groups = false;
    rd->nlisted = rd->highest = rd->per_process = rd->devices = 0;
    rd->alone = rd->ended = false;
    for (size_t i = 0; i < rd->cap_on_host; i++)
        rd->on_host[i] = 0;
    for (size_t i = 0; i < rd->cap_listed; i++)
        rd->listed[i] = false;
}

static void begin_run(struct nccl_tests_reader *rd)
{
    struct bench_run *run = bench_run_add(rd->r);
    rd->run = rd->r->nruns - 1;
    run->file = rd->file;
    run->line = rd->line;
    run->backend = "nccl";
    rd->columns.n = 0;
    rd->columns.in_place_only = false;
    rd->begun = false;
    forget_ranks(rd);
}

/* The ranks of a run whose header is complete. Its list may have holes: nccl-tests cuts that of a
 * process at 2 KiB, documents leave lines out. Device numbers then tell how many ranks a node has.
 */
static void find_layout(struct nccl_tests_reader *rd)
{
    struct layout *w = &run_of(rd)->where;
    const int process = rd->per_process > 0 ? rd->per_process : 1;
    if (rd->nlisted == 0)
        return;
    w->ranks = rd->other_groups ? rd->nlisted : (rd->highest / process + 1) * process;
    w->nodes = (int)run_of(rd)->nhosts;
    if (w->ranks == rd->nlisted)
        return;
    if (rd->devices > w->per_node)
        w->per_node = rd->devices < w->ranks ? rd->devices : w->ranks;
    if ((int64_t)w->nodes * w->per_node < w->ranks)
        w->nodes = (w->ranks + w->per_node - 1) / w->per_node;
    bench_note(rd->r, rd->file, run_of(rd)->line, "the header lists %d of %d ranks", rd->nlisted,
               w->ranks);
}

/* Before the first row of a run. */
static void end_header(struct nccl_tests_reader *rd)
{
    rd->ended = true;
    find_layout(rd);
    if (rd->alone)
        bench_note(
            rd->r, rd->file, run_of(rd)->line,
            "several processes have a rank 0: nccl-tests was built without MPI (make MPI=1), "
            "so that each measured alone, at the same time");
}

/* A header's line: the next run's where this one has rows. */
static struct bench_run *header(struct nccl_tests_reader *rd)
{
    if (run_of(rd)->nrows > 0)
        begin_run(rd);
    if (!rd->begun)
        run_of(rd)->line = rd->line;
    rd->begun = true;
    return run_of(rd);
}

/* ---- lines of the header ---- */

/* "Rank  0 Group  0 Pid 6899 on HOST device  0 [0000:04:00] NVIDIA H100 80GB HBM3", without the
 * group in older versions. */
static bool rank_line(struct nccl_tests_reader *rd, const char *text)
{
    struct bench_run *run;
    int rank, pid, device = 0, group = 0, end = 0;
    char host[NAME_MAX_LEN];
    const char *at = strstr(text, "Rank "), *name;
    size_t host_index;
    if (at == NULL ||
        (sscanf(at, "Rank %d Group %d Pid %d on %199s device %d %n", &rank, &group, &pid, host,
                &device, &end) < 5 &&
         sscanf(at, "Rank %d Pid %d on %199s device %d %n", &rank, &pid, host, &device, &end) < 4))
        return false;
    if (end == 0 || at[end] != '[' || (name = strchr(at + end, ']')) == NULL)
        return false;
    if (rank < 0 || rank >= RANK_MAX || device < 0 || device >= RANK_MAX)
        return false;
    run = header(rd);
    if (rd->group >= 0 && group != rd->group) {
        rd->other_groups = true; /* another communicator of the same size, at the same time */
        return true;
    }
    rd->group = group;
    ARRAY_GROW(rd->listed, rd->cap_listed, (size_t)rank + 1);
    rd->alone = rd->alone ||
                (rank == 0 && rd->listed[0] && (pid != rd->pid || strcmp(host, rd->host) != 0));
    if (rd->listed[rank] || rd->alone) /* or the list is another process' from there on */
        return true;
    if (rank == 0) {
        rd->pid = pid;
        rd->host = bench_keep(rd->r, host, strlen(host));
    }
    rd->listed[rank] = true;
    rd->nlisted++;
    if (rank > rd->highest)
        rd->highest = rank;
    if (device >= rd->devices)
        rd->devices = device + 1;
    for (name++; *name == ' ';)
        name++;
    host_index = bench_host_add(rd->r, run, host, strlen(host));
    ARRAY_GROW(rd->on_host, rd->cap_on_host, host_index + 1);
    rd->on_host[host_index]++;
    if (rd->on_host[host_index] > run->where.per_node)
        run->where.per_node = rd->on_host[host_index];
    if (run->gpu[0] == '\0')
        run->gpu = bench_keep(rd->r, name, strlen(name));
    else if (strcmp(run->gpu, name) != 0)
        run->other_gpu = bench_keep(rd->r, name, strlen(name));
    return true;
}

/* The word behind `mark`; "" where it is not there. */
static const char *word_behind(struct nccl_tests_reader *rd, const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    if (at == NULL)
        return "";
    at += strlen(mark);
    at += strspn(at, " ");
    return bench_keep(rd->r, at, strcspn(at, " \t\r"));
}

static bool header_line(struct nccl_tests_reader *rd, const char *text)
{
    /* "# nccl-tests version 2.17.6 nccl-headers=22501 nccl-library=22501": NCCL's number is
     * major x 10000 + minor x 100 + patch. Older: "rccl-tests: Version develop:3f7f785", which
     * stands between the header's lines. */
    if (strstr(text, "rccl-tests: Version ") != NULL) {
        run_of(rd)->backend = "rccl";
        return true;
    }
    if (strstr(text, "ccl-tests version ") != NULL) {
        struct bench_run *run = header(rd);
        const bool rccl = strstr(text, "rccl-tests") != NULL;
        int number = atoi(word_behind(rd, text, "-library="));
        if (rccl)
            run->backend = "rccl";
        if (number > 0)
            run->library = arena_printf(&rd->r->arena, "%s %d.%d.%d", rccl ? "RCCL" : "NCCL",
                                        number / 10000, number / 100 % 100, number % 100);
        return true;
    }
    if (strstr(text, "Collective test starting:") != NULL) {
        header(rd)->program = word_behind(rd, text, "Collective test starting:");
        return true;
    }
    if (strstr(text, "nThread ") != NULL && strstr(text, "nGpus ") != NULL &&
        strstr(text, "minBytes ") != NULL) {
        struct bench_run *run = header(rd);
        int threads, gpus;
        forget_ranks(rd); /* of a run that printed no row */
        if (sscanf(strstr(text, "nThread "), "nThread %d nGpus %d", &threads, &gpus) == 2 &&
            threads > 0 && gpus > 0 && (int64_t)threads * gpus < RANK_MAX)
            rd->per_process = threads * gpus;
        if (run->program[0] == '\0')
            run->program = rd->seen_program;
        return true;
    }
    return rank_line(rd, text);
}

/* ---- lines between ---- */

/* "... -> 1[1] via P2P/CUMEM", "... [send] via NET/IB/0/GDRDMA", "NET/IB : Using [0]mlx5_0:1/IB
 * [1]...", "Using network IB". */
static void paths_line(struct nccl_tests_reader *rd, const char *text)
{
    static const char using_ib[] = "NET/IB : Using ", network[] = "Using network ";
    struct bench_paths *p = &run_of(rd)->paths;
    const char *at = strstr(text, " via ");
    int nics = 0;
    p->p2p += at != NULL && strncmp(at, " via P2P/", 9) == 0;
    p->host += at != NULL && strncmp(at, " via SHM/", 9) == 0;
    if (at != NULL && strncmp(at, " via NET/", 9) == 0) {
        p->net++;
        p->gdr += strstr(at, "/GDRDMA") != NULL;
    }
    at = strstr(text, using_ib);
    for (at = at != NULL ? strchr(at, '[') : NULL; at != NULL; at = strchr(at + 1, '['))
        nics += isdigit((unsigned char)at[1]) != 0;
    if (nics > p->nics)
        p->nics = nics;
    at = strstr(text, network);
    if (at != NULL) {
        at += strlen(network);
        p->network = bench_keep(rd->r, at, strcspn(at, "\r"));
    }
}

/* NCCL and RCCL tell, with NCCL_DEBUG=INFO, "NCCL_ALGO set by environment to Ring." and its
 * version. */
static void debug_line(struct nccl_tests_reader *rd, const char *text)
{
    static const char set[] = " set by environment to ", version[] = "NCCL version ",
                      rccl[] = "RCCL version";
    const char *at = strstr(text, set), *start = at, *value;
    char name[NAME_MAX_LEN], buf[NAME_MAX_LEN];
    size_t len;
    if (at != NULL) {
        while (start > text && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
            start--;
        value = at + strlen(set);
        len = strcspn(value, "\r");
        while (len > 0 && (value[len - 1] == '.' || value[len - 1] == ' '))
            len--;
        if (at - start >= (ptrdiff_t)sizeof name || at == start)
            return;
        snprintf(name, sizeof name, "%.*s", (int)(at - start), start);
        snprintf(buf, sizeof buf, "%.*s", len < sizeof buf ? (int)len : 0, value);
        bench_setting_add(rd->r, run_of(rd), name, buf);
        return;
    }
    at = strstr(text, version);
    if (at != NULL && run_of(rd)->library[0] == '\0') {
        at += strlen(version);
        run_of(rd)->library =
            arena_printf(&rd->r->arena, "NCCL %s", bench_keep(rd->r, at, strcspn(at, "+ \t\r")));
    }
    at = strstr(text, rccl); /* "RCCL version : 2.22.3-HEAD:7d8d67c" */
    if (at != NULL) {
        at += strlen(rccl);
        at += strspn(at, " :");
        run_of(rd)->backend = "rccl";
        run_of(rd)->library =
            arena_printf(&rd->r->arena, "RCCL %s", bench_keep(rd->r, at, strcspn(at, "-+ \t\r")));
    }
}

/* A command line that a script printed: the operation, and settings as mpirun's -x passes them. */
static void command_line(struct nccl_tests_reader *rd, const struct nccl_tests_words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        const struct nccl_tests_word *w = &words->word[i];
        const char *slash = memrchr(w->p, '/', w->len);
        const char *name = slash != NULL ? slash + 1 : w->p;
        size_t len = w->len - (size_t)(name - w->p);
        char buf[NAME_MAX_LEN];
        if (len >= sizeof buf || memmem(name, len, "_perf", 5) == NULL)
            continue;
        snprintf(buf, sizeof buf, "%.*s", (int)len, name);
        if (measured_op(buf) != SPECTER_COMM_OP_COUNT || strcmp(buf, "hypercube_perf") == 0)
            rd->seen_program = bench_keep(rd->r, name, len);
    }
}

static void one_line(struct nccl_tests_reader *rd)
{
    const char *text = rd->text.data, *why = NULL;
    struct nccl_tests_words words;
    struct nccl_tests_columns columns = {.n = 0};
    enum nccl_tests_line kind;
    if (header_line(rd, text))
        return;
    if (strstr(text, "CCL") != NULL) {
        debug_line(rd, text);
        paths_line(rd, text);
    }
    split(text, rd->text.len, &words);
    if (read_headings(&words, &columns)) {
        const bool in_place_only = rd->columns.in_place_only;
        struct bench_run *run = rd->alone ? run_of(rd) : header(rd);
        if (run->program[0] == '\0') { /* the table alone was copied, behind its command */
            run->program = rd->seen_program;
            rd->seen_program = "";
        }
        rd->columns = columns;
        rd->columns.in_place_only = in_place_only;
        return;
    }
    if (strstr(text, "in-place") != NULL || strstr(text, "out-of-place") != NULL)
        rd->columns.in_place_only = strstr(text, "out-of-place") == NULL;
    kind = read_row(&rd->columns, &words, run_of(rd), rd->line, &why);
    if (!rd->ended && run_of(rd)->nrows > 0)
        end_header(rd);
    switch (kind) {
    case NCCL_TESTS_CUT:
        rd->r->damaged = true;
        if (rd->damaged++ < DAMAGE_SHOWN)
            bench_note(rd->r, rd->file, rd->line, "%s", why);
        break;
    case NCCL_TESTS_EMPTY:
        if (rd->empty++ == 0)
            rd->empty_line = rd->line;
        break;
    case NCCL_TESTS_NO_ROW:
        command_line(rd, &words);
        break;
    default:
        break;
    }
}

/* Fills in what holds for all rows of a run, and notes what was passed over. */
static void finish(struct nccl_tests_reader *rd, size_t first)
{
    for (size_t i = first; i < rd->r->nruns; i++) {
        struct bench_run *run = &rd->r->runs[i];
        enum specter_comm_op op = measured_op(run->program);
        for (size_t k = 0; k < run->nrows; k++) {
            run->rows[k].op = op;
            run->rows[k].where = run->where;
        }
    }
    if (rd->damaged > DAMAGE_SHOWN)
        bench_note(rd->r, rd->file, rd->line, "%zu more lines of the table cannot be read",
                   rd->damaged - DAMAGE_SHOWN);
    if (rd->empty > 0)
        bench_note(rd->r, rd->file, rd->empty_line,
                   "%zu row%s of 0 bytes (fewer elements than ranks): nothing was moved", rd->empty,
                   rd->empty == 1 ? "" : "s");
}

int bench_read_nccl_tests(struct bench_result *r, struct stream *s, const char *file, struct err *e)
{
    struct nccl_tests_reader rd = {
        .r = r, .file = file, .line = 1, .seen_program = "", .text = BUF_INIT};
    const size_t first = r->nruns;
    struct lines l;
    int rc;
    begin_run(&rd);
    lines_init(&l, s, LINE_MAX_BYTES);
    while ((rc = lines_next(&l, e)) > 0) {
        rd.line = (size_t)l.number;
        buf_reset(&rd.text);
        buf_put(&rd.text, l.text, l.len);
        if (!l.too_long && memchr(l.text, '\0', l.len) == NULL)
            one_line(&rd);
    }
    lines_release(&l);
    buf_release(&rd.text);
    finish(&rd, first);
    free(rd.on_host);
    free(rd.listed);
    return rc;
}

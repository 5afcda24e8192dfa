/* SPDX-License-Identifier: MIT
 *
 * The text of nccl-tests and rccl-tests, line by line. What is looked for is found anywhere in a
 * line, as launchers put prefixes before it ("[1,0]<stdout>:", "0: ") and some logs have lost the
 * leading #.
 */
#include "bench/nccl_tests.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/stream.h"
#include "bench/read.h"
#include "calib/measured.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)64 << 10) /* a longer line is none of nccl-tests' */
#define DAMAGE_SHOWN 4                    /* lines that are named; the rest is counted */

struct nccl_tests_reader {
    struct bench_result *r;
    const char *file;
    size_t line, run; /* where it stands; the run that rows go to */
    struct nccl_tests_columns columns;
    const char *seen_program;      /* in a command line before the header; "" */
    struct nccl_tests_ranks ranks; /* of the header */
    bool begun, ended;             /* the header's first and last line came */
    size_t empty, empty_line;      /* rows of 0 bytes, and where the first stands */
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
    rd->ended = false;
    nccl_tests_ranks_reset(&rd->ranks);
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
    struct nccl_tests_rank rank;
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
            threads > 0 && gpus > 0 && (int64_t)threads * gpus < NCCL_TESTS_RANK_MAX)
            rd->ranks.per_process = threads * gpus;
        if (run->program[0] == '\0')
            run->program = rd->seen_program;
        return true;
    }
    if (nccl_tests_rank_read(&rank, text)) {
        struct bench_run *run = header(rd);
        nccl_tests_ranks_add(&rd->ranks, rd->r, run, &rank);
        return true;
    }
    return false;
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
    char name[NCCL_TESTS_NAME_MAX], buf[NCCL_TESTS_NAME_MAX];
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
        char buf[NCCL_TESTS_NAME_MAX];
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
    nccl_tests_split(text, rd->text.len, &words);
    if (nccl_tests_headings(&words, &columns)) {
        const bool in_place_only = rd->columns.in_place_only;
        struct bench_run *run = rd->ranks.alone ? run_of(rd) : header(rd);
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
    kind = nccl_tests_row(&rd->columns, &words, run_of(rd), rd->line, &why);
    if (!rd->ended && run_of(rd)->nrows > 0) { /* the header is complete */
        rd->ended = true;
        nccl_tests_ranks_end(&rd->ranks, rd->r, run_of(rd));
    }
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
    nccl_tests_ranks_release(&rd.ranks);
    return rc;
}

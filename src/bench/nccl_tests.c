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
#define SETTINGS_MAX 64                   /* of a command line that are kept */
#define UNKNOWN_RANKS 1024                /* taken for a run whose ranks are not listed */
#define WORD_ENDS " \t\r;&|<>()"          /* of a shell, outside quotes */

/* A command line that a script printed or a document shows, which may go on over several lines. */
struct nccl_tests_command {
    const char *program; /* "" */
    struct bench_setting settings[SETTINGS_MAX];
    size_t nsettings;
    bool continues; /* its last line ends in a backslash */
};

struct nccl_tests_reader {
    struct bench_result *r;
    const char *file;
    size_t first_run; /* of the file */
    size_t line, run; /* where it stands; the run that rows go to */
    struct nccl_tests_columns columns;
    struct nccl_tests_command command; /* the last one before the header that names a program */
    struct nccl_tests_command reading; /* one whose lines have not ended */
    struct nccl_tests_ranks ranks;     /* of the header */
    uint64_t max_bytes, last_bytes;    /* of the header: the limit, and the last size; 0 */
    bool header_begun;                 /* a line of the header came */
    bool explained;           /* a line came that says that the table is complete, or why not */
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
    nccl_tests_ranks_reset(&rd->ranks);
}

/* Called after the last line of a run: adds a note if its table ends before the last size that the
 * header promises. nccl-tests rounds sizes down to whole elements of each rank, newer versions to
 * 16 bytes, so the last row may be smaller by 16 bytes a rank. */
static void end_run(struct nccl_tests_reader *rd)
{
    const struct bench_run *run = run_of(rd);
    const struct bench_row *last = run->nrows > 0 ? &run->rows[run->nrows - 1] : NULL;
    const int ranks = run->where.ranks > 0 ? run->where.ranks : UNKNOWN_RANKS;
    if (last == NULL || rd->explained || rd->ranks.alone)
        return;
    if (last->bytes < rd->last_bytes && rd->last_bytes - last->bytes >= (uint64_t)ranks * 16)
        bench_note(rd->r, rd->file, last->line,
                   "the table ends at %llu of %llu bytes: the log is cut, or the run stopped there",
                   (unsigned long long)last->bytes, (unsigned long long)rd->max_bytes);
}

static void begin_run(struct nccl_tests_reader *rd)
{
    struct bench_run *run;
    if (rd->r->nruns > rd->first_run)
        end_run(rd);
    run = bench_run_add(rd->r);
    rd->run = rd->r->nruns - 1;
    run->file = rd->file;
    run->line = rd->line;
    run->backend = "nccl";
    rd->columns.n = 0;
    rd->columns.in_place_only = false;
    rd->header_begun = rd->explained = false;
    rd->max_bytes = rd->last_bytes = 0;
    forget_ranks(rd);
}

/* Moves the settings of the command before a header to the header's run. */
static void take_settings(struct nccl_tests_reader *rd)
{
    for (size_t i = 0; i < rd->command.nsettings; i++)
        bench_setting_add(rd->r, run_of(rd), rd->command.settings[i].name,
                          rd->command.settings[i].value);
    rd->command.nsettings = 0;
}

/* Called for each line of a header. Returns the run that the header describes: a new one where the
 * last one has rows already. */
static struct bench_run *header_run(struct nccl_tests_reader *rd)
{
    if (run_of(rd)->nrows > 0)
        begin_run(rd);
    if (!rd->header_begun)
        run_of(rd)->line = rd->line;
    rd->header_begun = true;
    take_settings(rd);
    return run_of(rd);
}

/* ---- lines of the header ---- */

/* "... minBytes 8 maxBytes 134217728 step: 2(factor) ...", or "step: 1048576(bytes)". */
static void read_sizes(struct nccl_tests_reader *rd, const char *options)
{
    const char *min = strstr(options, "minBytes "), *max = strstr(options, "maxBytes "),
               *step = strstr(options, "step: ");
    uint64_t size, by;
    bool factor;
    char *end;
    rd->max_bytes = rd->last_bytes = 0;
    if (min == NULL || max == NULL || step == NULL)
        return;
    size = strtoull(min + strlen("minBytes "), NULL, 10);
    rd->max_bytes = strtoull(max + strlen("maxBytes "), NULL, 10);
    by = strtoull(step + strlen("step: "), &end, 10);
    factor = strncmp(end, "(factor)", 8) == 0;
    if (size > rd->max_bytes || by == 0 || (factor && (by < 2 || size == 0)))
        return;
    while (factor && size <= rd->max_bytes / by)
        size *= by;
    rd->last_bytes = factor ? size : rd->max_bytes - (rd->max_bytes - size) % by;
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
    struct nccl_tests_rank rank;
    /* "# nccl-tests version 2.17.6 nccl-headers=22501 nccl-library=22501": NCCL's number is
     * major x 10000 + minor x 100 + patch. Older: "rccl-tests: Version develop:3f7f785", which
     * stands between the header's lines. */
    if (strstr(text, "rccl-tests: Version ") != NULL) {
        run_of(rd)->backend = "rccl";
        return true;
    }
    if (strstr(text, "ccl-tests version ") != NULL) {
        struct bench_run *run = header_run(rd);
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
        header_run(rd)->program = word_behind(rd, text, "Collective test starting:");
        return true;
    }
    if (strstr(text, "nThread ") != NULL && strstr(text, "nGpus ") != NULL &&
        strstr(text, "minBytes ") != NULL) {
        int threads, gpus;
        header_run(rd);
        forget_ranks(rd); /* of a run that printed no row */
        if (sscanf(strstr(text, "nThread "), "nThread %d nGpus %d", &threads, &gpus) == 2 &&
            threads > 0 && gpus > 0 && (int64_t)threads * gpus < NCCL_TESTS_RANK_MAX)
            rd->ranks.per_process = threads * gpus;
        read_sizes(rd, text);
        if (run_of(rd)->program[0] == '\0')
            run_of(rd)->program = rd->command.program;
        return true;
    }
    if (nccl_tests_rank_read(&rank, text)) {
        struct bench_run *run = header_run(rd);
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
    size_t len;
    if (at != NULL) {
        while (start > text && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
            start--;
        value = at + strlen(set);
        len = strcspn(value, "\r");
        while (len > 0 && (value[len - 1] == '.' || value[len - 1] == ' '))
            len--;
        if (at > start)
            bench_setting_add(rd->r, run_of(rd), bench_keep(rd->r, start, (size_t)(at - start)),
                              bench_keep(rd->r, value, len));
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

/* Lines behind the table, and those that say why there is none: nccl-tests' own, "HOST: Test NCCL
 * failure common.cu:392 'unhandled cuda error'" of each process, and launchers'. */
static void closing_line(struct nccl_tests_reader *rd, const char *text)
{
    static const struct {
        const char *mark;
        char begin; /* the reason begins at this; '\0': at the mark */
    } failures[] = {
        {"Test NCCL failure ", '\''},
        {"Test CUDA failure ", '\''},
        {"slurmstepd: error: *** ", '\0'},
        {"noticed that process rank ", '\0'}, /* mpirun, prterun */
    };
    const char *why = NULL;
    if (strstr(text, "Out of bounds values") != NULL || strstr(text, "Avg bus bandwidth") != NULL)
        rd->explained = true;
    for (size_t i = 0; i < sizeof failures / sizeof *failures && why == NULL; i++) {
        const char *at = strstr(text, failures[i].mark);
        why = at != NULL ? strchr(at, failures[i].begin != '\0' ? failures[i].begin : *at) : NULL;
    }
    if (why == NULL || rd->explained || !rd->header_begun)
        return;
    rd->explained = rd->r->damaged = true;
    bench_note(rd->r, rd->file, rd->line, "the run failed: %s",
               bench_keep(rd->r, why, strcspn(why, "\r")));
}

/* ---- a command line ---- */

/* "all_reduce_perf", "./build/alltoall_perf" */
static void program_word(struct nccl_tests_reader *rd, const char *word, size_t len)
{
    const char *slash = memrchr(word, '/', len), *name = slash != NULL ? slash + 1 : word;
    char buf[NCCL_TESTS_NAME_MAX];
    len -= (size_t)(name - word);
    if (len >= sizeof buf || memmem(name, len, "_perf", 5) == NULL)
        return;
    snprintf(buf, sizeof buf, "%.*s", (int)len, name);
    if (measured_op(buf) != SPECTER_COMM_OP_COUNT || strcmp(buf, "hypercube_perf") == 0)
        rd->reading.program = bench_keep(rd->r, name, len);
}

/* Appends the value at `p` as a shell or mpirun's -x takes it, and returns its end. Sets *known to
 * false where a quote does not close or is escaped, and for variables and commands. */
static const char *shell_value(const char *p, struct buf *out, bool *known)
{
    const char *word_end = p + strcspn(p, WORD_ENDS);
    char quote = '\0';
    *known = true;
    for (; *p != '\0' && (quote != '\0' || strchr(WORD_ENDS, *p) == NULL); p++) {
        if (*p == quote) {
            quote = '\0';
        } else if (quote == '\0' && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else {
            if (*p == '\\' && (quote == '\0' || (quote == '"' && strchr("\"\\", p[1]) != NULL)))
                p++;
            if (*p == '\0' ||
                *p == '\r') /* behind a backslash: the value goes on in the next line */
                break;
            *known = *known && strchr("$`\"'", *p) == NULL;
            buf_putc(out, *p);
        }
    }
    *known = *known && quote == '\0';
    return quote == '\0' ? p : word_end;
}

/* Takes "NCCL_ALGO=Ring". Returns the word's end. */
static const char *setting_word(struct nccl_tests_reader *rd, const char *word, size_t len)
{
    struct nccl_tests_command *c = &rd->reading;
    const char *equal = memchr(word, '=', len), *end;
    struct buf value = BUF_INIT;
    bool known;
    if (equal == NULL || !bench_is_library_setting(word, (size_t)(equal - word)))
        return word + len;
    end = shell_value(equal + 1, &value, &known);
    if (known && c->nsettings < SETTINGS_MAX) {
        c->settings[c->nsettings].name = bench_keep(rd->r, word, (size_t)(equal - word));
        c->settings[c->nsettings++].value = bench_keep(rd->r, value.data, value.len);
    }
    buf_release(&value);
    return end;
}

/* Reads settings and the program of a command line. Splits at spaces within quotes, too, because
 * the quoted text may be the command of bash -c. */
static void command_line(struct nccl_tests_reader *rd)
{
    const char *p = rd->text.data, *word = p;
    size_t len = 0;
    if (!rd->reading.continues)
        rd->reading = (struct nccl_tests_command){.program = ""};
    for (p += strspn(p, WORD_ENDS); *p != '\0'; p += strspn(p, WORD_ENDS)) {
        word = p;
        len = strcspn(word, WORD_ENDS);
        program_word(rd, word, len);
        p = setting_word(rd, word, len);
    }
    rd->reading.continues = len == 1 && *word == '\\';
    if (!rd->reading.continues && rd->reading.program[0] != '\0')
        rd->command = rd->reading;
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
        if (!rd->ranks.alone)
            header_run(rd);
        if (run_of(rd)->program[0] == '\0') { /* the table alone was copied, behind its command */
            run_of(rd)->program = rd->command.program;
            rd->command.program = "";
        }
        rd->columns = columns;
        rd->columns.in_place_only = in_place_only;
        return;
    }
    if (strstr(text, "in-place") != NULL || strstr(text, "out-of-place") != NULL)
        rd->columns.in_place_only = strstr(text, "out-of-place") == NULL;
    kind = nccl_tests_row(&rd->columns, &words, run_of(rd), rd->line, &why);
    if (run_of(rd)->nrows > 0) /* the header is complete */
        nccl_tests_ranks_end(&rd->ranks, rd->r, run_of(rd));
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
        closing_line(rd, text);
        command_line(rd);
        break;
    default:
        break;
    }
}

/* Fills in what holds for all rows of a run, and notes what was passed over. */
static void finish(struct nccl_tests_reader *rd, size_t first)
{
    end_run(rd);
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
        .r = r, .file = file, .line = 1, .command.program = "", .text = BUF_INIT};
    const size_t first = rd.first_run = r->nruns;
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

/* SPDX-License-Identifier: MIT
 *
 * specter sweep: many what-ifs of recorded runs in one call.
 */
#include "analysis/limits.h"
#include "cmd/cmd.h"
#include "cmd/load.h"

#include "cmd/sweep_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MAX 1024

struct sweep_opts {
    const char *output, *json, *shard, *color;
    int64_t threads;
};

#define AT(field) offsetof(struct sweep_opts, field)

static const struct opt rows[] = {
    {"output", 'o', OPT_STR, AT(output), "FILE",
     "grow this table row by row, and go on from what is in it"},
    {"json", 0, OPT_STR, AT(json), "FILE|-",
     "write the rows as JSON; -: to stdout, in place of the CSV"},
    {"threads", 0, OPT_I64, AT(threads), "N", "default: one a core"},
    {"shard", 0, OPT_STR, AT(shard), "I/N", "only the I-th of N parts of the points, from 1"},
    {"color", 0, OPT_STR, AT(color), "WHEN",
     "of the bar: auto (default: unless NO_COLOR is set), always, never"},
    OPT_END,
};

static const char details[] =
    "Replays every combination of the values that a grid lists. GRID.json is an object; each key\n"
    "takes a value or a list of them, and what is absent, or null, is the default of\n"
    "'specter replay':\n"
    "\n"
    "  {\"traces\": [\"./traces\"], \"gpus\": [null, \"a100_sxm\"], \"scales\": [1, 8, 64]}\n"
    "\n"
    "  traces                   folders, files or archives; DIRs take their place\n"
    "  gpus, networks           targets: profiles by name, or files\n"
    "  scales, grow             how many times the job, along which axis\n"
    "  parallel                 the job's parallel grid, as --parallel takes it\n"
    "  placement, strong        how ranks sit on nodes; true: the batch is divided\n"
    "  from_gpu, from_network   the hardware of the recording\n"
    "  jitter, draws, seed      how operations vary: P50 and P95\n"
    "  straggler, slow_link, failed_nic\n"
    "                           what is slow or broken, as 'specter replay' takes it\n"
    "  host_speed               how many times as fast CPUs are\n"
    "  calibrate                true, or false for the models' times alone\n"
    "\n"
    "Prints one CSV row a point, in the order of the grid: its id, what was asked, all times of\n"
    "the iteration in microseconds, throughput, speed-up, efficiency, a status and its reason.\n"
    "What cannot be computed, as a scale that a network cannot hold, is a row that says why. The\n"
    "bytes do not depend on threads, shards or interruptions. Columns, ids and JSON are in\n"
    "docs/sweep.md.\n"
    "\n"
    "With -o, Ctrl-C, a kill or a full disk lose no finished row, and the same command goes on.\n"
    "Tables of shards are put together by concatenation: the same grid with -o on the result\n"
    "brings its rows in order and computes what is missing.\n"
    "\n"
    "Exit status: 0 done, 2 bad option, 3 a bad grid, no usable trace, or output that cannot be\n"
    "written, 4 some points could not be computed or a trace was incomplete, 130 interrupted.";

/* ---- options ---- */

struct shard {
    int64_t part, parts; /* from 1 */
};

/* "I/N" */
static int parse_shard(const char *text, struct shard *out, struct err *e)
{
    const char *slash = text != NULL ? strchr(text, '/') : NULL;
    char part[24];
    struct err why;
    *out = (struct shard){1, 1};
    if (text == NULL)
        return 0;
    snprintf(part, sizeof part, "%.*s", slash != NULL ? (int)(slash - text) : 0, text);
    if (slash == NULL || opt_parse_i64("", part, &out->part, &why) < 0 ||
        opt_parse_i64("", slash + 1, &out->parts, &why) < 0 || out->part < 1 ||
        out->part > out->parts || out->parts > SWEEP_POINTS_MAX)
        return err_set(e, ERR_USAGE, "--shard '%.64s': I/N with 1 <= I <= N is needed", text);
    return 0;
}

static size_t thread_count(const struct sweep_opts *o)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (o->threads > 0)
        return (size_t)o->threads;
    return cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (size_t)cores;
}

static int check_opts(struct sweep_opts *o, int n, struct shard *shard, bool *color, struct err *e)
{
    if (n == 0)
        return err_set(e, ERR_USAGE, "no GRID.json given (see 'specter help sweep')");
    if (o->threads < 0 || o->threads > THREADS_MAX)
        return err_set(e, ERR_USAGE, "--threads: %lld is not within 1 to %d", (long long)o->threads,
                       THREADS_MAX);
    if (o->output != NULL && strcmp(o->output, "-") == 0)
        o->output = NULL;
    return parse_shard(o->shard, shard, e) < 0 ? -1 : color_parse(o->color, color, e);
}

/* ---- a sweep ---- */

struct sweep_run {
    const struct sweep_opts *opts;
    struct sweep_grid grid;
    struct run *runs; /* by trace of the grid; owned */
    size_t nruns;
    struct sweep_table table;
    struct sweep_file file;
    size_t first, end; /* the shard's points */
    bool color;
};

static int load_runs(struct sweep_run *s, struct err *e)
{
    const struct sweep_list *traces = &s->grid.axes[SWEEP_TRACES];
    s->runs = calloc(traces->count, sizeof *s->runs);
    if (s->runs == NULL)
        die("out of memory");
    while (s->nruns < traces->count) {
        struct run *run = &s->runs[s->nruns++];
        if (cmd_load(run, traces->values[s->nruns - 1].text, NULL, e) < 0 ||
            limits_check(run, e) < 0)
            return -1;
        for (size_t i = 0; i < run->nnotes; i++)
            fprintf(stderr, "specter: note: %s: %s\n", run->source, run->notes[i].text);
    }
    return 0;
}

static size_t shard_begin(int64_t part, int64_t parts, size_t points)
{
    return (size_t)((uint64_t)part * points / (uint64_t)parts);
}

static size_t missing(const struct sweep_run *s)
{
    size_t n = 0;
    for (size_t p = s->first; p < s->end; p++)
        n += s->table.rows[p].line == NULL;
    return n;
}

/* The JSON would take the place of the table. */
static bool is_table(const struct sweep_run *s, const char *path)
{
    struct stat table, other;
    return s->file.regular && path != NULL && stat(path, &other) == 0 &&
           fstat(s->file.fd, &table) == 0 && table.st_ino == other.st_ino &&
           table.st_dev == other.st_dev;
}

static int open_output(struct sweep_run *s, struct err *e)
{
    const char *path = s->opts->output;
    size_t cut;
    if (path == NULL)
        return 0;
    if (sweep_file_open(&s->file, path, e) < 0)
        return -1;
    if (is_table(s, s->opts->json))
        return err_set(e, ERR_USAGE, "'%s' cannot hold both the table and the JSON", path);
    if (sweep_file_resume(&s->file, &s->table, &cut, e) < 0)
        return -1;
    if (cut > 0)
        fprintf(stderr, "specter: '%s': its last line was cut and is dropped\n", path);
    if (s->table.have > 0)
        fprintf(stderr, "specter: '%s': %zu of %zu points are there already\n", path, s->table.have,
                s->table.count);
    return 0;
}

static int write_output(struct sweep_run *s, struct err *e)
{
    const struct sweep_opts *o = s->opts;
    bool json_only = o->json != NULL && strcmp(o->json, "-") == 0;
    struct buf text = BUF_INIT;
    if (o->output != NULL && sweep_file_finish(&s->file, &s->table, e) < 0)
        return -1;
    if (o->output == NULL && !json_only) {
        sweep_table_csv(&s->table, &text);
        fwrite(text.data, 1, text.len, stdout); /* main checks that stdout took it */
        buf_release(&text);
    }
    return o->json != NULL ? cmd_write_json(sweep_table_json(&s->table), o->json, e) : 0;
}

/* e says why no more can be written. */
static int keep_rows(const struct sweep_run *s, struct err *e)
{
    struct err why = *e;
    err_set(e, why.code, "%s; the %zu points in it are whole, and the same command goes on",
            why.msg, s->file.rows);
    return (int)e->code;
}

/* The status, and in e what is to be said of it. */
static int conclude(const struct sweep_run *s, int signal, struct err *e)
{
    const struct sweep_table *t = &s->table;
    size_t left = missing(s), i = 0;
    struct buf why = BUF_INIT;
    if (left > 0) {
        err_set(e, ERR_INPUT, "interrupted, %zu points are missing; %s", left,
                s->opts->output != NULL ? "the same command goes on"
                                        : "with -o FILE the same command would go on");
        return 128 + signal;
    }
    if (t->of[SWEEP_FAILED] + t->of[SWEEP_PARTIAL] == 0)
        return 0;
    while (t->rows[i].status == SWEEP_MISSING || t->rows[i].status == SWEEP_OK)
        i++;
    sweep_line_reason(t->rows[i].line, &why);
    err_set(e, ERR_PARTIAL,
            "of %zu points %zu could not be computed and %zu rest on a part of the input; the "
            "first: %s",
            t->have, t->of[SWEEP_FAILED], t->of[SWEEP_PARTIAL], why.data);
    buf_release(&why);
    return ERR_PARTIAL;
}

static int sweep(struct sweep_run *s, const struct shard *shard, struct err *e)
{
    struct progress_line bar;
    struct sweep_work work = {.table = &s->table, .runs = s->runs, .progress = &bar};
    int signal, rc;
    s->first = shard_begin(shard->part - 1, shard->parts, s->grid.points);
    s->end = shard_begin(shard->part, shard->parts, s->grid.points);
    if (open_output(s, e) < 0)
        return (int)e->code;
    work.file = s->opts->output != NULL ? &s->file : NULL;
    work.first = s->first;
    work.end = s->end;
    work.threads = thread_count(s->opts);
    progress_start(&bar, missing(s), s->color);
    rc = sweep_work(&work, &signal, e);
    progress_end(&bar);
    if (rc < 0)
        return keep_rows(s, e);
    if (write_output(s, e) < 0)
        return (int)e->code;
    return conclude(s, signal, e);
}

static int run_sweep(const struct command *self, int argc, char **argv, struct err *e)
{
    struct sweep_opts opts = {0};
    struct sweep_run s = {.opts = &opts, .file = {.fd = -1}};
    struct shard shard;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status >= 0)
        return status;
    if (check_opts(&opts, n, &shard, &s.color, e) < 0)
        return (int)e->code;
    if (sweep_grid_read(&s.grid, argv[0], argv + 1, (size_t)n - 1, e) < 0 || load_runs(&s, e) < 0 ||
        sweep_table_init(&s.table, &s.grid, s.runs, e) < 0)
        status = (int)e->code;
    else
        status = sweep(&s, &shard, e);
    sweep_file_close(&s.file);
    sweep_table_release(&s.table);
    for (size_t i = 0; i < s.nruns; i++)
        run_release(&s.runs[i]);
    free(s.runs);
    sweep_grid_release(&s.grid);
    return status;
}

const struct command cmd_sweep = {
    .name = "sweep",
    .synopsis = "sweep GRID.json [DIR...] [-o FILE] [--json FILE|-] [--threads N] [--shard I/N] "
                "[--color WHEN]",
    .summary = "replay a grid of hardware and scales, one row a point",
    .details = details,
    .rows = rows,
    .run = run_sweep,
};

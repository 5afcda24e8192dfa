/* SPDX-License-Identifier: MIT
 *
 * The commands.
 *
 * To add one: write src/cmd/<name>.c with its struct of options, its option rows and its run
 * function, and end it with `const struct command cmd_<name>`; add one line to COMMANDS below.
 * Help, the command list and "did you mean" follow; tests/cli/help/ fails until the new help text
 * is reviewed.
 */
#ifndef SPECTER_CMD_CMD_H
#define SPECTER_CMD_CMD_H

#include "base/err.h"
#include "base/opt.h"
#include "base/terminal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* At the end of a line of a synopsis: every option that no line of it names. */
#define SYNOPSIS_ALL " [...]"

struct cmd_kind;

struct command {
    const char *name;
    const char *synopsis; /* after "specter ", one line or several separated by \n */
    const char *summary;  /* one line, for the list; lower case, no full stop */
    const char *details;  /* paragraphs for `specter help NAME`, broken anew at column 80; NULL:
                             none.  A line that starts with a space stays as it is */
    const struct opt *rows;
    /* Of a command whose first operand is a kind with options and help of its own: these. Its run
     * is cmd_run_kind(). */
    const struct cmd_kind *const *kinds;
    size_t nkinds;
    bool paged; /* all of its text comes at its end: where it is long, through a pager */

    /* argv[0] is the command's name. Prints its own result to stdout, returns the exit status, or
     * CMD_HELPED; on failure fills e and returns e's code, and main prints "specter: <message>". */
    int (*run)(const struct command *self, int argc, char **argv, struct err *e);
};

/* The tasks that users have for a command: `specter help` lists them under these titles, in this
 * order. */
#define COMMAND_TASKS(X)                           \
    X(RECORD, "record a program")                  \
    X(EXPLAIN, "see where the time went")          \
    X(COMPARE, "compare runs")                     \
    X(PREDICT, "predict other hardware and sizes") \
    X(MEASURE, "measure machines, check the models")

/* X(name, task), those of a task together. */
#define COMMANDS(X)        \
    X(capture, RECORD)     \
    X(watch, RECORD)       \
    X(dump, RECORD)        \
    X(doctor, RECORD)      \
    X(analyze, EXPLAIN)    \
    X(metrics, EXPLAIN)    \
    X(export, EXPLAIN)     \
    X(merge, EXPLAIN)      \
    X(compare, COMPARE)    \
    X(experiment, COMPARE) \
    X(replay, PREDICT)     \
    X(sweep, PREDICT)      \
    X(predict, PREDICT)    \
    X(profiles, PREDICT)   \
    X(bench, MEASURE)      \
    X(validate, MEASURE)   \
    X(calibrate, MEASURE)

#define X(name, task) extern const struct command cmd_##name;
COMMANDS(X)
#undef X

/* All of them, in that order. */
extern const struct command *const commands[];
extern const size_t command_count;

/* The title of the task that begins with commands[i]; NULL: the task of the command before. */
const char *cmd_task_begins(size_t i);

struct buf;

/* Puts the next line of the synopsis at *text, without "specter " and with all options, into `line`
 * and steps after it. */
void cmd_synopsis_line(struct buf *line, const struct command *self, const char **text);

/* By name; NULL with e filled (ERR_USAGE), naming the nearest one. */
const struct command *cmd_find(const char *name, struct err *e);

#define CMD_HELPED (-1) /* --help was printed: main ends with 0 */

/* Parses `self`'s options into opts. Operands are left in argv[0..*n), a NULL after them. Returns
 * 0 to go on; else what run() is to return: CMD_HELPED, or ERR_USAGE with e filled. */
int cmd_parse(const struct command *self, void *opts, int argc, char **argv, bool stop_at_operand,
              int *n, struct err *e);

/* The same of a command without operands: one is a usage error. */
int cmd_parse_options(const struct command *self, void *opts, int argc, char **argv, struct err *e);

/* -1 with e filled: there are more operands than the one directory that the command reads. */
int cmd_one_dir(const struct command *self, int n, char **argv, struct err *e);

/* The directory (or file) a command reads: operand 0, else $SPECTER_OUTPUT, else ./traces. */
const char *cmd_input(int n, char **argv);

/* `specter help NAME`, to stdout. */
void cmd_help(const struct command *self);

struct arena;

/* Where libspecter.so is, absolute: $SPECTER_LIB, else beside this program (a build folder), else
 * where `make install` puts it. 0, or -1 with e filled. */
int cmd_library(struct arena *a, const char **library, struct err *e);

/* mkdir -p; what is made is for its owner only, as traces tell much about a program. The path is
 * changed meanwhile. 0, or -1 with errno. */
int cmd_make_folders(char *path);

/* The text for an entry of a trace's "unseen", before and after the path. */
void cmd_coverage_gap_text(const char *kind, const char **before, const char **behind);

struct run;

/* Loads a run, for every command: run_load(), of several runs the one named (NULL: the newest). A
 * bar on stderr is there from half a second on, on a terminal alone (progress.c), and is taken
 * away. */
int cmd_load(struct run *run, const char *path, const char *run_id, struct err *e);

struct load_shared;

/* From here on cmd_load() takes what other processes have read (trace/share.h). NULL: it reads. */
void cmd_load_from(struct load_shared *shared);

/* Called by cmd_load() before it loads: reads together with other processes, and calls
 * cmd_load_from(). 0, or -1 with e filled. */
typedef int cmd_read_together(const char *path, const char *run_id, struct err *e);
void cmd_load_together(cmd_read_together *read);

/* That bar, for load_opts.progress and the like; arg: a struct progress_line that was started. */
void cmd_show_progress(void *arg, uint64_t done, uint64_t total);

struct recorded_bounds;

/* Gives commands that predict the bounds of a recording as `analyze` states them: they cannot ask
 * themselves, as names of src/analysis and src/sim clash. 0, or -1 with e filled. */
int cmd_recorded_bounds(struct recorded_bounds *out, const struct run *run, struct err *e);

/* A command's work on a run that is loaded. Returns 0 or a status; -1 with e filled. */
typedef int cmd_report(void *arg, const struct run *run, struct err *e);

enum cmd_run_flags {
    CMD_UNCHECKED = 1, /* figures that hardware cannot have (analysis/limits.h) are not refused */
    CMD_STRICT = 2,    /* one rank of several is a loss, too: --strict */
};

#define STRICT_HELP "status 4 also where one rank alone of several was recorded"

/* The frame of all commands that read one run: loads it, writes what must be known about how it was
 * read to stderr, a line each, checks it, and calls report. flags: of enum cmd_run_flags. Returns
 * the command's status: report's; where that is 0, ERR_PARTIAL when part of the input was lost; e's
 * code on failure. */
int cmd_with_run(const char *path, const char *run_id, int flags, cmd_report *report, void *arg,
                 struct err *e);

struct cJSON;

/* Writes a JSON document to `where` ("-": stdout) and deletes it. 0, or -1 with e filled. */
int cmd_write_json(struct cJSON *doc, const char *where, struct err *e);

/* Says on stderr that a file was written, and how large it is. Of a device, nothing. */
void cmd_wrote(const char *path);

struct whole_file;

/* For one that is written piece by piece into f->out: the file, or stdout. Then its last newline,
 * and whether all of it was taken. 0, or -1 with e filled. */
int cmd_open_json(struct whole_file *f, const char *where, struct err *e);
int cmd_close_json(struct whole_file *f, struct err *e);

/* Of a command with kinds, each with options and help of its own: `specter bench gemm`, `specter
 * predict gemm`. A kind is one file; its messages send to the help of the whole command. */
struct cmd_kind {
    const char *name;
    struct command command; /* .name is the whole command's */
    /* As struct command's; what is printed may live in the arena. */
    int (*run)(const struct command *self, int argc, char **argv, struct arena *a, struct err *e);
};

/* Runs the kind that the first operand names. Returns the exit status. */
int cmd_run_kind(const struct command *self, int argc, char **argv, struct err *e);

/* ---- program.c ----
 *
 * The program: what its main() does, in `specter` (src/main.c) and in `specter-mpi`
 * (src/main_mpi.c). */

/* Finds the command, calls it, reports. Returns the exit status. */
int program_main(int argc, char **argv);

/* ---- manual.c ----
 *
 * Man pages and completions of shells, made from the option rows of the commands, so that a new
 * option is in all of them. `make install` puts them where man and the shells look. */

/* Writes specter.1 and specter-<command>.1 into a folder that exists. 0, or -1 with e filled. */
int manual_write_pages(const char *folder, struct err *e);

/* Prints the completion for bash, zsh or fish to stdout. 0, or -1 with e filled (ERR_USAGE):
 * another shell. */
int manual_completion(const char *shell, struct err *e);

/* ---- schema.c ----
 *
 * JSON Schemas (2020-12) of what tables of the code describe: a line of a trace
 * (specter/trace.h), profiles (model/profile.h, params.h) and workload cards (metrics/card.h).
 * `make install` puts them beside those of the results (share/schemas). */

/* Prints the schema of this name to stdout. 0, or -1 with e filled (ERR_USAGE): there is none. */
int schema_print(const char *name, struct err *e);

/* ---- progress.c ----
 *
 * A bar on stderr while something long goes on: how much of it is done, how fast, how long it will
 * take, what was done last. Only where stderr is a terminal that can go back in its line.
 *
 *     progress_start(&p, total, color);
 *     progress_show(&p, done, "a100_sxm");      as often as one likes
 *     progress_end(&p);                         takes the bar away */

struct progress_line {
    bool on, color;
    size_t total;
    int64_t start_ns, shown_ns;
};

void progress_start(struct progress_line *p, size_t total, enum color_when color);
void progress_show(struct progress_line *p, size_t done, const char *what);

/* For those that count in other things: the time since the start, and a bar filled to that share
 * with a text after it. */
int64_t progress_ns(const struct progress_line *p);
void progress_draw(struct progress_line *p, double share, const char *rest);

void progress_end(struct progress_line *p);

#endif

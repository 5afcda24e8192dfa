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

#include <stdbool.h>
#include <stdio.h>

struct command {
    const char *name;
    const char *synopsis; /* behind "specter ", one line or several separated by \n */
    const char *summary;  /* one line, for the list; lower case, no full stop */
    const char *details;  /* paragraphs for `specter help NAME`, broken anew at column 80; NULL:
                             none.  A line that starts with a space stays as it is */
    const struct opt *rows;
    bool has_kinds; /* its first operand is a kind with options and help of its own (kinds.h) */

    /* argv[0] is the command's name. Prints its own result to stdout, returns the exit status;
     * on failure fills e and returns e's code, and main prints "specter: <message>". */
    int (*run)(const struct command *self, int argc, char **argv, struct err *e);
};

/* X(name) in the order in which help lists them: along the path from a program to a prediction. */
#define COMMANDS(X) \
    X(capture)      \
    X(dump)         \
    X(analyze)      \
    X(metrics)      \
    X(export)       \
    X(replay)       \
    X(sweep)        \
    X(profiles)     \
    X(predict)      \
    X(validate)     \
    X(calibrate)    \
    X(bench)        \
    X(doctor)

#define X(name) extern const struct command cmd_##name;
COMMANDS(X)
#undef X

/* By name; NULL with e filled (ERR_USAGE), naming the nearest one. */
const struct command *cmd_find(const char *name, struct err *e);

/* Parses `self`'s options into opts. Operands are left in argv[0..*n), a NULL behind them. Returns
 * -1 to go on; else the status to return at once (0 after --help was printed, e's code on a usage
 * error). */
int cmd_parse(const struct command *self, void *opts, int argc, char **argv, bool stop_at_operand,
              int *n, struct err *e);

/* The same of a command without operands: one is a usage error. */
int cmd_parse_options(const struct command *self, void *opts, int argc, char **argv, struct err *e);

/* The directory (or file) a command reads: operand 0, else $SPECTER_OUTPUT, else ./traces. */
const char *cmd_input(int n, char **argv);

/* `specter help NAME` and `specter help`, to stdout. */
void cmd_help(const struct command *self);
void cmd_help_all(void);

/* `specter --version`: of the program, the trace format and the libraries that are compiled in. */
void cmd_version(void);

struct arena;

/* Where libspecter.so is, absolute: $SPECTER_LIB, else beside this program (a build folder), else
 * where `make install` puts it. 0, or -1 with e filled. */
int cmd_library(struct arena *a, const char **library, struct err *e);

/* The text for an entry of a trace's "unseen", before and behind the path. */
void cmd_coverage_gap_text(const char *kind, const char **before, const char **behind);

struct run;

/* Writes what must be known about how the run was read, a line each, to stderr. */
void cmd_notes(const struct run *run);

struct cJSON;

/* Writes a JSON document to `where` ("-": stdout) and deletes it. 0, or -1 with e filled. */
int cmd_write_json(struct cJSON *doc, const char *where, struct err *e);

/* For one that is written piece by piece: the file, or stdout; NULL with e filled. Then its last
 * newline, and whether all of it was taken: 0, or -1 with e filled. */
FILE *cmd_open_json(const char *where, struct err *e);
int cmd_close_json(FILE *out, const char *where, struct err *e);

#endif

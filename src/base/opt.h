/* SPDX-License-Identifier: MIT
 *
 * Command lines from a table. A command has a struct of options with its defaults and one row an
 * option; opt_parse() fills the struct, opt_help() prints the same rows for `specter help`.
 *
 *     struct analyze_opts { const char *json; int64_t rank; };
 *     static const struct opt rows[] = {
 *         {"rank", 0, OPT_I64, offsetof(struct analyze_opts, rank), "N", "only this rank"},
 *         {"json", 0, OPT_STR, offsetof(struct analyze_opts, json), "FILE|-", "write JSON"},
 *         OPT_END,
 *     };
 *
 * Both `--rank 3` and `--rank=3` work, as do `-o DIR` and `-oDIR`; `--` ends the options; -h and
 * --help are known everywhere. A repeated option takes its last value, but for OPT_TEXTS. Numbers
 * are read the same way in every locale.
 */
#ifndef SPECTER_BASE_OPT_H
#define SPECTER_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum opt_type {
    OPT_FLAG,   /* bool: no argument */
    OPT_STR,    /* const char *: borrowed from argv */
    OPT_I64,    /* int64_t */
    OPT_DOUBLE, /* double */
    OPT_BYTES,  /* struct opt_bytes: 64M, 1.5GiB, 512 (k M G T and KiB: powers of 1024, as
                   nccl-tests), 64MB (kB MB GB TB: of 1000), 1e6 */
    OPT_LIST,   /* struct opt_list: 1,2,4 or 0,8-15 */
    OPT_TEXTS,  /* struct opt_texts: one more each time that it is given */
};

struct opt {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    enum opt_type type;
    size_t offset;    /* into the command's struct */
    const char *arg;  /* NULL for a flag */
    const char *help; /* one line */
};

#define OPT_END                          \
    {                                    \
        NULL, 0, OPT_FLAG, 0, NULL, NULL \
    }

/* Every size is a possible one, so that none can stand for an option that was not given. */
struct opt_bytes {
    uint64_t value;
    bool given;
};

/* Comma-separated whole numbers with ranges, OPT_LIST_MAX of them at most; values are owned, freed
 * with free(). */
#define OPT_LIST_MAX ((size_t)1 << 20)

struct opt_list {
    int64_t *values;
    size_t count, cap;
};

/* Texts are borrowed from argv, the list of them is freed with free(). */
struct opt_texts {
    const char **list;
    size_t count, cap;
};

/* Parses argv[0..argc), moving what is not an option to the front, in order.
 * stop_at_operand: the first operand ends the options (`capture CMD --its-own-option`).
 * Returns the number of operands, or -1 with e filled (ERR_USAGE). *help is set by -h / --help. */
int opt_parse(const struct opt *rows, void *opts, int argc, char **argv, bool stop_at_operand,
              bool *help, struct err *e);

/* Help and prose never pass this column. */
#define OPT_COLUMNS 80

/* --help, which every command has. */
extern const struct opt opt_help_row;

/* The option rows, --help included, aligned. */
void opt_help(const struct opt *rows, FILE *out);

/* Prints text and a newline, broken at spaces outside square brackets; `column` is where the cursor
 * stands, `indent` where further lines start. Lines end at OPT_COLUMNS, or where a narrower
 * terminal ends. */
void opt_wrap(const char *text, size_t column, size_t indent, FILE *out);

/* The same for another width. */
void opt_wrap_at(const char *text, size_t column, size_t indent, size_t width, FILE *out);

/* Single values, for callers that hold text from elsewhere: 0, or -1 with e filled. `what` names
 * the value in the message. */
int opt_parse_i64(const char *what, const char *text, int64_t *out, struct err *e);
int opt_parse_double(const char *what, const char *text, double *out, struct err *e);
int opt_parse_bytes(const char *what, const char *text, uint64_t *out, struct err *e);
int opt_parse_list(const char *what, const char *text, struct opt_list *out, struct err *e);

/* Returns the index of the word that the value of an option is, or -1 with e filled (ERR_USAGE).
 * words end with NULL. */
int opt_word(const char *option, const char *text, const char *const *words, struct err *e);

/* Returns whether a list of names, with commas between them, holds this one. */
bool opt_list_names(const char *list, const char *name);

/* Distance of two words (insertions, deletions, replacements), for "did you mean". */
size_t opt_distance(const char *a, const char *b);

/* True when `a` is close enough to `b` to be a slip of the fingers: one letter and a third of it
 * may differ. */
bool opt_is_near(const char *a, const char *b);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The parts of nccl-tests' text, internal to the readers: the columns of its table and one line of
 * it.
 *
 * A row as nccl-tests (src/util.cu) prints it, of all ranks together:
 *
 *     size count type redop root   time algbw busbw #wrong   time algbw busbw #wrong
 *      (B)                         out of place              in place
 *
 * Older versions lack root or redop, say `error` for #wrong and print no in-place part; the report
 * of single iterations (2.19 on) adds i_min i_max i_p99 i_cv% to either part; -T adds a time of
 * day. The line of headings says which columns there are; without one it follows from how many
 * values stand behind the type.
 */
#ifndef SPECTER_BENCH_NCCL_TESTS_H
#define SPECTER_BENCH_NCCL_TESTS_H

#include "bench/result.h"

#define NCCL_TESTS_WORDS 64 /* of a line that are looked at */

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

/* Splits at spaces and tabs. */
void nccl_tests_split(const char *text, size_t len, struct nccl_tests_words *out);

/* Reads a line of headings. False when it is none. */
bool nccl_tests_headings(const struct nccl_tests_words *words, struct nccl_tests_columns *out);

enum nccl_tests_line {
    NCCL_TESTS_NO_ROW,
    NCCL_TESTS_ROW,
    NCCL_TESTS_EMPTY, /* of 0 bytes: fewer elements than ranks */
    NCCL_TESTS_CUT,   /* it begins like one; *why says what is wrong */
};

/* Adds the row or rows (out of place, in place) of a line. `words` may begin with a launcher's
 * prefix. */
enum nccl_tests_line nccl_tests_row(const struct nccl_tests_columns *columns,
                                    const struct nccl_tests_words *words, struct bench_run *run,
                                    size_t line, const char **why);

#endif

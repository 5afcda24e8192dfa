/* SPDX-License-Identifier: MIT
 *
 * The parts of the reader of nccl-tests' text: nccl_tests.c goes through a log line by line,
 * nccl_tests_row.c reads the table, nccl_tests_ranks.c the list of ranks above it. Internal to
 * them: others use bench_read() (bench/read.h).
 */
#ifndef SPECTER_BENCH_NCCL_TESTS_H
#define SPECTER_BENCH_NCCL_TESTS_H

#include "bench/result.h"

/* ---- the table (nccl_tests_row.c) ---- */

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
    NCCL_TESTS_CUT,   /* it begins like a row, and *why tells what it lacks */
};

/* Splits at spaces and tabs. */
void nccl_tests_split(const char *text, size_t len, struct nccl_tests_words *out);

/* Reads a line of headings. False when it is none. */
bool nccl_tests_headings(const struct nccl_tests_words *words, struct nccl_tests_columns *out);

/* Adds the row or rows (out of place, in place) of a line. `words` may begin with a launcher's
 * prefix. `columns` with n 0: no line of headings came, the row's own words tell. */
enum nccl_tests_line nccl_tests_row(const struct nccl_tests_columns *columns,
                                    const struct nccl_tests_words *words, struct bench_run *run,
                                    size_t line, const char **why);

/* ---- the list of ranks (nccl_tests_ranks.c) ---- */

#define NCCL_TESTS_NAME_MAX 200       /* of a host, a program */
#define NCCL_TESTS_RANK_MAX (1 << 20) /* of ranks, devices, GPUs and threads of a process */

/* A line of the list. */
struct nccl_tests_rank {
    int rank, group, pid, device; /* group 0 where the version names none */
    char host[NCCL_TESTS_NAME_MAX];
    const char *gpu; /* in the line, to its end */
};

/* The ranks that the lines of a header describe together. */
struct nccl_tests_ranks {
    int group;         /* of the run's first rank; -1: none came yet */
    bool other_groups; /* there are ranks of others: they are numbered together */
    int pid;           /* of rank 0, */
    const char *host;  /* and its host; "" */
    int *on_host;      /* ranks of each host of the run; owned */
    size_t cap_on_host;
    bool *listed; /* by rank: the header names it; owned */
    size_t cap_listed;
    int n, highest;  /* number of listed ranks, and the largest of them */
    int per_process; /* ranks of a process; 0: not told */
    int devices;     /* of a node: the largest device number + 1 */
    bool alone;      /* several processes have a rank 0: each measured alone */
    bool ended;      /* nccl_tests_ranks_end() was called */
};

void nccl_tests_ranks_release(struct nccl_tests_ranks *ranks);

/* Forgets all, for the list of another header. */
void nccl_tests_ranks_reset(struct nccl_tests_ranks *ranks);

/* Reads a line of the list. False when it is none. */
bool nccl_tests_rank_read(struct nccl_tests_rank *out, const char *text);

/* Adds a rank: its host and GPU to the run, too. */
void nccl_tests_ranks_add(struct nccl_tests_ranks *ranks, struct bench_result *r,
                          struct bench_run *run, const struct nccl_tests_rank *one);

/* After the last line of a header: sets run->where, and notes errors of the list. Further calls do
 * nothing, until nccl_tests_ranks_reset(). */
void nccl_tests_ranks_end(struct nccl_tests_ranks *ranks, struct bench_result *r,
                          struct bench_run *run);

#endif

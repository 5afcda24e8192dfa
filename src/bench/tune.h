/* SPDX-License-Identifier: MIT
 *
 * Finds algorithms, protocols and numbers of channels that are faster than NCCL's own choice, by
 * operation and size. A setting is a communicator of its own, made with NCCL_ALGO, NCCL_PROTO and
 * the CTAs of its configuration, so that one job holds all of them and measures them in turn:
 *
 *   - one call of each setting, whose result is compared, and of which NCCL's profiler interface
 *     says what was taken. What is refused, wrong, ignored, or NCCL's own choice anyway is out.
 *   - a race: in each round NCCL's own choice and every setting left time some calls, in an order
 *     that turns round from round to round. A round gives each setting one ratio of medians, NCCL's
 *     time over its own: drifts of the machine are in both. Its logarithm has a mean and an
 *     interval by Student's t. After 5, 10, 20 and 40 rounds settings are out whose interval ends
 *     below 1 + least gain, or below where that of the best begins. First algorithms and protocols
 *     race, then numbers of channels for the winner and for NCCL's own choice.
 *   - a duel of the winner against NCCL's own choice, in rounds of its own: who wins out of many
 *     has had luck, so what the race measured does not count. It ends after 10, 20 or 40 rounds, as
 *     soon as it is decided. A gain is a ratio of at least 1 + least gain whose interval lies above
 *     1.
 *
 * Intervals hold with 95 % for all settings and looks of a race together, and for all looks of a
 * duel (Bonferroni): a gain is told of a size where there is none in less than 2.5 % of cases.
 */
#ifndef SPECTER_BENCH_TUNE_H
#define SPECTER_BENCH_TUNE_H

#include "bench/collective.h"
#include "model/cost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_TUNE_ROUNDS 40

/* NCCL's time over a setting's, with its interval. rounds 0: not measured. */
struct bench_ratio {
    double ratio, low, high;
    size_t rounds;
};

enum bench_trial_state {
    BENCH_TRIAL_RACED,
    BENCH_TRIAL_SAME,    /* what NCCL takes by itself, or what another setting is */
    BENCH_TRIAL_IGNORED, /* NCCL takes something else */
    BENCH_TRIAL_REFUSED,
    BENCH_TRIAL_WRONG, /* results */
    BENCH_TRIAL_HANGS,
    BENCH_TRIAL_STATES
};

/* A setting at one size. */
struct bench_trial {
    struct comm_choice setting; /* channels 0: NCCL's own */
    struct comm_choice took;    /* algo NULL: not known */
    enum bench_trial_state state;
    struct bench_ratio race;
};

enum bench_tune_verdict {
    BENCH_TUNE_OWN, /* nothing gains as much as asked for */
    BENCH_TUNE_GAIN,
    BENCH_TUNE_OPEN, /* rounds or time did not suffice */
    BENCH_TUNE_VERDICTS
};

/* One operation at one size. */
struct bench_tuned {
    enum specter_comm_op op;
    uint64_t bytes;
    struct comm_choice own; /* NCCL's; algo NULL: not known */
    double own_us;          /* a call's, median over rounds */
    double wrong;           /* elements of NCCL's own result */
    enum bench_tune_verdict verdict;
    struct bench_trial best; /* of a gain, or what may be one; setting.algo NULL: none */
    struct bench_ratio gain; /* of the duel */
    double best_us;
    struct bench_trial *trials; /* owned */
    size_t n, cap;
};

struct bench_tune_log {
    struct bench_tuned *sizes; /* owned; in the order of operations and sizes */
    size_t n, cap;
    size_t left; /* sizes for which there was no time */
};

void bench_tune_log_release(struct bench_tune_log *log);

struct bench_tune_plan {
    struct bench_plan what; /* operations, sizes (full buffers), types, check, stop */
    const char *const *algos, *const *protos; /* that are tried; end with NULL */
    const int64_t *channels;                  /* likewise, beside NCCL's own number */
    size_t nchannels;
    double budget_s, least_gain;
    /* On the first rank, after every size. May be NULL. */
    void (*done)(void *arg);
    void *done_arg;
};

/* Returns whether NCCL has the operation by this algorithm and protocol, on so many nodes. */
bool bench_tune_pair(enum specter_comm_op op, const char *algo, const char *proto, struct layout w);

/* Fills log on every rank. `on` has the communicator of NCCL's own choice, `members` what it was
 * opened with; both know call_s. 0; 1: a rank wanted to end early; -1 with e filled: a rank failed
 * (what was measured before is in log). */
int bench_tune(const struct bench_tune_plan *plan, const struct bench_communicator *on,
               const struct bench_members *members, struct bench_tune_log *log, struct err *e);

/* ---- what NCCL takes ----
 *
 * Its profiler interface names algorithm, protocol and channels of each operation; the plugin is
 * modules/nccl_choice.c. */

/* The symbol that the plugin exports. */
struct bench_nccl_choices {
    unsigned calls; /* 0: nothing was told */
    char algo[32], proto[16];
    int channels;
};

#define BENCH_NCCL_CHOICES specter_bench_nccl_choices

/* Makes NCCL open the plugin, unless the environment names another. Also removes from this
 * process's environment the variables that would force a choice: their names, one after the other,
 * are in `taken` ("": none). */
void bench_nccl_watch(char *taken, size_t size);

/* As NCCL's variables spell an algorithm: "nvls_tree" is NVLSTree. */
const char *bench_nccl_word(const char *algo);

/* ---- the race's figures ---- */

/* Logarithms of ratios, one a round. */
struct bench_ratios {
    size_t n;
    double mean, squares; /* of deviations */
};

void bench_ratios_add(struct bench_ratios *r, double ratio);

/* The interval that holds with probability `level`. Fewer than two rounds: 0 to infinity. */
struct bench_ratio bench_ratios_interval(const struct bench_ratios *r, double level);

#endif

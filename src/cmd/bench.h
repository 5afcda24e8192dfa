/* SPDX-License-Identifier: MIT
 *
 * specter bench: what its kinds have in common. Each kind is one file with its options and its run
 * function, and one line in bench.c:
 *
 *     bench_collective.c   collective: times of a library's collectives
 *     bench_gemm.c         gemm: times of GEMMs
 *     bench_state.c        state: what NVML says of GPUs
 *     bench_p2p.c          p2p: times of messages between any two GPUs
 *     bench_drift.c        drift: clocks of GPUs and hosts against each other
 *     bench_overlap.c      overlap: what GEMMs and collectives lose to each other
 *     bench_tune.c         tune: settings that are faster than NCCL's own choice
 *     bench_report.c       report: logs of nccl-tests beside what the models expect; folders
 *                          of links
 *
 * bench_job.h: the processes that measure together. bench_conditions.h: temperature, clocks and
 * CPUs that they measure at.
 */
#ifndef SPECTER_CMD_BENCH_H
#define SPECTER_CMD_BENCH_H

#include "cmd/kinds.h"

#define BENCH_NO_NUMBER INT64_MIN /* not given, and no number that an option accepts */

/* Rows of options that most kinds have. --html is for a `const char *html`. */
#define BENCH_HTML_ROW(offset)                                                    \
    {                                                                             \
        "html", 0, OPT_STR, offset, "FILE", "write curves and checks as one page" \
    }

/* The row of --fail-on, for option tables that hold a `const char *fail_on`. */
#define BENCH_FAIL_ON_ROW(offset)                                                              \
    {                                                                                          \
        "fail-on", 0, OPT_STR, offset, "EXPR", "exit 1 when it holds: failed>0, slow>0, cv>5%" \
    }

extern const struct cmd_kind bench_collectives, bench_drifts, bench_gemms, bench_overlaps,
    bench_p2ps, bench_report, bench_states, bench_tunes;

#endif

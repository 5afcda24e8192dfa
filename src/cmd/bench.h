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
 * bench_job.h: the processes that measure together, and the temperature, clocks and CPUs that they
 * measure at.
 */
#ifndef SPECTER_CMD_BENCH_H
#define SPECTER_CMD_BENCH_H

#include "base/err.h"
#include "cmd/cmd.h"

#include <stdio.h>

struct bench_checks;
struct bench_p2p_report;
struct bench_target;
struct cJSON;

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

#define BENCH_PATH_MAX 4096 /* bytes of a result file's path */

/* ---- what is known of links, for the user ---- */

/* Shows what `specter bench p2p` has measured or `specter bench report` has read: checks, text,
 * JSON, a page. */
struct bench_p2p_show {
    const char *json, *html, *fail_on; /* as the options; NULL: not given */
    bool full;
    const char *folder; /* whose temperatures.csv the page has; "": none */
};

/* The profiles that links are held against: as the options name them, else those of the GPU of that
 * name and of its usual network; gpu NULL where neither is known. 0, or -1 with e filled. */
int bench_p2p_target(const char *gpu, const char *network, const char *device, struct arena *a,
                     struct bench_target *out, struct err *e);

/* Fills *checks, which r has from then on; r->links are known. 0, or -1 with e
 * filled: something cannot be written, or (ERR_NO) a condition of --fail-on holds. */
int bench_p2p_show(struct bench_p2p_report *r, struct bench_checks *checks,
                   const struct bench_p2p_show *show, struct err *e);

#endif

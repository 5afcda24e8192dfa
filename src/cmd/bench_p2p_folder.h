/* SPDX-License-Identifier: MIT
 *
 * The folder of `specter bench p2p -o DIR`: DIR/<gpu>-<driver>-<cuda>. Logs are written while it
 * measures, the rest at the end; docs/bench.md has the files.
 */
#ifndef SPECTER_CMD_BENCH_P2P_FOLDER_H
#define SPECTER_CMD_BENCH_P2P_FOLDER_H

#include "bench/common_clock.h"
#include "cmd/bench_job.h"
#include "report/bench_p2p.h"

#define BENCH_FOLDER_MAX 4096

struct bench_p2p_folder {
    const struct bench_job *job; /* borrowed */
    struct bench_target target;  /* what messages.csv names; on rank 0 */
    char path[BENCH_FOLDER_MAX]; /* "": none is wanted */
    FILE *logs[2];               /* exchange_log.csv, execution_log.csv; on rank 0 */
};

/* All ranks together, of an open library: rank 0 makes the folder in `output`, with -2 and so on
 * where the name is taken; each writes what is known of it. 0, or -1 with e filled on all ranks. */
int bench_p2p_folder_start(struct bench_p2p_folder *f, const char *output,
                           const struct bench_p2p_report *r, struct err *e);

/* On rank 0: the rows of a configuration. */
int bench_p2p_folder_rows(const struct bench_p2p_folder *f, const struct bench_p2p_done *done,
                          const struct bench_common_clock *clock, struct err *e);

/* On each rank, at the end: its own files; on rank 0 also the drift, messages.csv (r->links are
 * known), and the logs once more where the common clock is known better now. Nothing without a
 * folder. 0, or -1 with e filled. */
int bench_p2p_folder_end(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                         struct err *e);

void bench_p2p_folder_release(struct bench_p2p_folder *f);

#endif

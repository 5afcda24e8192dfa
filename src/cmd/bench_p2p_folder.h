/* SPDX-License-Identifier: MIT
 *
 * The folder of `bench p2p -o DIR`: DIR/<gpu>-<driver>-<cuda>, with -2 and so on where the name is
 * taken. Logs are written while it measures, the rest at the end; docs/bench.md has the files.
 *
 *     struct p2p_folder f = {0};
 *     p2p_folder_prepare("DIR", e);                   before anything is opened
 *     p2p_folder_start(&f, "DIR", &job, &report, e);
 *     p2p_folder_log(&f, &done, &clock, e);           after each configuration
 *     p2p_folder_end(&f, &job, &report, e);
 *     p2p_folder_release(&f);
 *
 * Without a folder (`output` is NULL) all of these do nothing. They return 0, or -1 with e filled.
 */
#ifndef SPECTER_CMD_BENCH_P2P_FOLDER_H
#define SPECTER_CMD_BENCH_P2P_FOLDER_H

#include "bench/drift.h"
#include "cmd/bench.h"
#include "report/bench_report.h"

#include <stdio.h>

struct p2p_folder {
    char path[BENCH_PATH_MAX]; /* "": there is none */
    FILE *log_files[2];        /* exchange_log.csv, execution_log.csv (one way); on rank 0 */
};

/* In each process: makes `output` unless it is there, so that an error of it comes before anything
 * is started. */
int p2p_folder_prepare(const char *output, struct err *e);

/* All ranks together, with the library open: rank 0 makes the folder, and each rank writes what is
 * known of it there. Ranks of a node that does not share rank 0's file system make it on their own.
 * An error is one of all ranks. */
int p2p_folder_start(struct p2p_folder *f, const char *output, const struct bench_job *job,
                     const struct bench_p2p_report *r, struct err *e);

/* On rank 0: appends the rows of a configuration to its log. Nothing on other ranks. */
int p2p_folder_log(const struct p2p_folder *f, const struct bench_p2p_done *done,
                   const struct bench_common_clock *clock, struct err *e);

/* On each rank, at the end: writes its own files; on rank 0 also the drift and messages.csv
 * (r->links are known), and the logs once more where the second drift made the common clock more
 * exact. */
int p2p_folder_end(const struct p2p_folder *f, const struct bench_job *job,
                   const struct bench_p2p_report *r, struct err *e);
void p2p_folder_release(struct p2p_folder *f);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A folder of `specter bench p2p -o DIR` read back; also one that a script with the same columns
 * left (execution_log.csv: config_id, src, dst, size, repetition, timestamp_start_ns,
 * timestamp_end_ns, duration_ns; temperatures.csv), of which nothing else is known.
 *
 *     struct bench_p2p_files files;
 *     if (bench_p2p_read(&files, "traces/h100", e) == 0)
 *         bench_links_fit(&files.log, files.node_of, &links);
 *     bench_p2p_files_release(&files);
 *
 * Rows that cannot be read are notes of files.result, with file and line, which is then `damaged`.
 */
#ifndef SPECTER_BENCH_P2P_READ_H
#define SPECTER_BENCH_P2P_READ_H

#include "bench/drift.h"
#include "bench/p2p.h"
#include "bench/temperatures.h"

#define BENCH_P2P_SIZES_MAX 128

struct bench_p2p_files {
    struct bench_result result; /* hosts, settings, notes */
    struct bench_run *run;      /* of result */
    uint64_t sizes[BENCH_P2P_SIZES_MAX];
    struct bench_p2p_plan plan; /* sizes, seed, warmup, repeat */
    struct bench_p2p_log log;
    struct bench_drift_log drift[2];        /* before and after; n 0: not there */
    int *node_of;                           /* owned; by rank */
    struct bench_temperatures temperatures; /* of the first node */
    struct bench_gpu_summary *gpus;         /* owned; of all nodes */
    int ngpus;
    bool complete; /* as the metadata say; true where they do not */
};

/* Returns whether it is a folder. */
bool bench_p2p_is_folder(const char *path);

/* 0, or -1 with e filled (ERR_INPUT): there is no execution_log.csv, or no message in it. To be
 * released in any case. */
int bench_p2p_read(struct bench_p2p_files *f, const char *folder, struct err *e);
void bench_p2p_files_release(struct bench_p2p_files *f);

#endif

/* SPDX-License-Identifier: MIT
 *
 * What `specter bench p2p` measured: the files of its folder, a text of a screen, JSON.
 */
#ifndef SPECTER_REPORT_BENCH_P2P_H
#define SPECTER_REPORT_BENCH_P2P_H

#include "bench/checks.h"
#include "bench/drift.h"
#include "bench/links.h"
#include "bench/result.h"
#include "bench/state.h"
#include "report/bench_drift.h"
#include "report/bench_table.h"

#include <stdio.h>

struct bench_p2p_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, hosts, settings */
    const struct bench_p2p_plan *plan;
    const struct bench_p2p_log *log;
    const struct bench_links *links;
    const struct bench_target *target;      /* the profiles; NULL, or gpu NULL: not known */
    const struct bench_checks *checks;      /* the checks */
    const struct bench_drift_log *drift[2]; /* before and after; n 0: not measured */
    const int *node_of;                     /* by rank */
    const struct bench_gpu_summary *gpus;   /* what they were like, of all nodes */
    int ngpus;
    bool complete;
};

/* execution_log.csv: a row for each repetition one way. Times in ns; duration_ns is two_sided_ns
 * rounded. exchange_log.csv: the other modes. `clock` makes the times of hosts those of rank 0's;
 * NULL: they are. */
void bench_p2p_csv_head(bool one_way, FILE *out);
void bench_p2p_csv_rows(const struct bench_p2p_done *done, const struct bench_common_clock *clock,
                        FILE *out);

/* messages.csv: medians of all messages with the columns of docs/validate.md. Those over links that
 * are slow, late or asymmetric are marked doubtful, so that no model is fitted to them. */
void bench_p2p_messages_csv(const struct bench_p2p_report *r, const struct bench_target *target,
                            FILE *out);

/* metadata_rank_<N>.yml, of one rank: what is known of its GPU, library and settings, the plan, and
 * whether all of it was measured. */
struct bench_p2p_rank {
    int rank, world, node, device, pid;
    const char *host, *launcher, *driver; /* "": not known */
};
void bench_p2p_metadata(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                        FILE *out);

/* rank_<N>.pt.trace.json and rank_<N>_CPU_trace.json, as PyTorch writes them: the sends and
 * receives of the messages one way, whose calls have the same ids in both. */
void bench_p2p_kineto(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                      FILE *out);
void bench_p2p_execution_trace(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                               FILE *out);

/* The answer first: whether all links are normal, else which are not. At most 14 lines of 80
 * columns and the checks, unless full: then all links with their fits. */
void bench_p2p_text(const struct bench_p2p_report *r, bool full, FILE *out);

/* {"schema": "specter.bench/1", "kind": "p2p"}; medians of every configuration. Caller deletes. */
struct cJSON *bench_p2p_json(const struct bench_p2p_report *r);

#endif

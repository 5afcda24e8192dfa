/* SPDX-License-Identifier: MIT
 *
 * Communication by kind: one row for all instances of equal operation, element type, size and
 * communicator size. Times are those of transfer (comm.h); bandwidths follow nccl-tests.
 */
#ifndef SPECTER_ANALYSIS_COMM_ROWS_H
#define SPECTER_ANALYSIS_COMM_ROWS_H

#include "analysis/comm.h"
#include "analysis/expected.h"

struct comm_row {
    uint8_t op, dtype;
    bool bytes_known;
    uint64_t bytes;
    int comm_size;    /* 0 unknown */
    const char *name; /* of the communicator; "" when rows are not told apart by it */
    uint64_t count;   /* instances */
    uint64_t timed;   /* of them with a transfer time */
    uint64_t grouped; /* of them launched together with others */
    uint64_t records; /* operations of single ranks that the instances are made of */
    double min_ns, median_ns, mean_ns, max_ns; /* of transfer; NAN when none is timed */
    double wait_ns;              /* mean over instances of the mean wait of a member; NAN unknown */
    double p95_ns;               /* of transfer: 95 % of the timed instances take no longer; NAN */
    double skew_ns, skew_max_ns; /* last start - first start: mean and largest over the instances
                                    where starts can be compared; NAN when there is none */
    double busy_ns; /* sum over records of their durations, in a group their share of it */
    double share;   /* busy_ns of the row / that of all communication of the run; NAN */
    int nodes;      /* that the members of each instance are on; 0: not known, or they differ */

    /* The model's prediction (expected.h), over the instances that it can be compared with: all
     * members traced and timed, launched alone. */
    uint64_t compared;
    double expected_ns;         /* mean; NAN when there is none */
    double expected_busbw_GBps; /* bytes / expected_ns x bus factor */
    double of_expected; /* expected_ns / median transfer of these: share of that bandwidth */

    double total_ns; /* sum over instances of transfer + mean wait: what the row costs a rank */

    /* How NCCL ran the instances that its profiler reported: the most frequent choice. */
    uint64_t profiled, alike; /* instances of which it told; of them those that ran like this */
    const char *algo, *proto; /* NCCL's words; "" unknown. Borrowed from the run */
    uint32_t channels;        /* 0 unknown */

    /* moved bytes / median transfer, and times the bus factor; NAN unknown. Of the instances that
     * were launched alone where there are any; else of those whose group moved a known sum. */
    double algbw_GBps, busbw_GBps;
    bool beyond_links; /* they are unknown since the links of the GPU cannot have moved so much */
};

struct comm_rows {
    struct comm_row *list; /* owned; by total_ns, largest first */
    size_t count, cap;
};

/* The recording's hardware and layout. */
struct comm_context {
    const struct machine *machine;
    const struct node_map *node_map;
};

/* Rows of the study's collectives, or (p2p) of its sends and receives. by_name: communicators of
 * different names are told apart. */
void comm_rows_init(struct comm_rows *rows, const struct comm_study *study,
                    const struct comm_context *context, bool p2p, bool by_name);
void comm_rows_release(struct comm_rows *rows);

#endif

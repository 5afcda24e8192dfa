/* SPDX-License-Identifier: MIT
 *
 * The traffic of a run's communication: bytes by operation, type and group, by size, by group of
 * ranks, and between which ranks messages went. Formulas and their sources: docs/communication.md,
 * "Bytes".
 *
 *   bytes        S, once an instance: nccl-tests' full buffer; AlltoAllv: mean of what the members
 *                send
 *   wire_bytes   what leaves the GPUs of the traced members: S times the ring's share
 *   inter_bytes  of them, what leaves a node
 *
 * Operations that are known to move no data (barriers, signals, empty calls) are in none of it.
 */
#ifndef SPECTER_ANALYSIS_TRAFFIC_H
#define SPECTER_ANALYSIS_TRAFFIC_H

#include "analysis/comm.h"
#include "analysis/node_map.h"

/* Sums of one instance, or of several together. */
struct traffic_sum {
    uint64_t instances;
    uint64_t calls;   /* operations of single ranks after them */
    uint64_t unsized; /* instances whose bytes are not known: in none of the sums */
    uint64_t timed;
    double bytes;
    double wire_bytes, inter_bytes; /* NAN when that of one of them is not known */
    double time_ns; /* sum of transfers; an operation in a group has its share of the group's */
};

/* By operation, type and group: communicators of one name and size. */
struct traffic_row {
    uint8_t op, dtype;
    const char *group; /* name; "" none. Borrowed from the run */
    int comm_size;     /* 0 unknown */
    int nodes;         /* that each of the communicators is on; 0: not known, or they differ */
    struct traffic_sum sum;
};

/* By operation and size: 2^bin <= S < 2^(bin+1). */
struct size_row {
    uint8_t op;
    int bin; /* -1: size not known */
    struct traffic_sum sum;
};

/* One group. Times of a rank are the length of the union of its operations' times. */
struct group_row {
    const char *group;
    int comm_size, nodes;
    uint64_t comms; /* communicators */
    uint64_t collectives, messages;
    uint64_t ranks; /* with timed operations in it */
    double time_ns; /* mean over these ranks */
    double time_max_ns;
    int max_rank;    /* whose that is: global rank; -1 */
    double per_step; /* collectives of a rank in its steps / these steps; NAN without */
    struct traffic_sum sum;
};

/* Messages between ranks: one row for each directed pair (sender -> receiver).
 *
 *   time   length of the union of the times in which the pair's messages moved
 *          (coll_timing_of_message()): messages of one group share its time, which counts once
 *   bw     bytes of the timed messages / time */
struct pair_row {
    int src, dst; /* global ranks; -1 unknown */
    int across;   /* nodes: 1 between two, 0 within one, -1 unknown */
    uint64_t count, unsized;
    uint64_t timed;     /* whose bytes and time are known */
    uint64_t two_sided; /* of them seen from both ends */
    double bytes, timed_bytes;
    double time_ns, bw_GBps; /* NAN unknown */
};

struct pairs {
    struct pair_row *list; /* owned; most bytes first */
    size_t count, cap;
    uint64_t endless; /* messages of which neither or one end is not known: in no row */
};

struct traffic {
    struct traffic_row *rows; /* owned; most wire bytes first */
    size_t nrows, cap_rows;
    struct size_row *sizes; /* owned; by operation, then size */
    size_t nsizes, cap_sizes;
    struct group_row *groups; /* owned; longest time first */
    size_t ngroups, cap_groups;
    double per_step;       /* collectives of a rank in its steps / these steps; NAN without steps */
    uint64_t without_data; /* instances known to move nothing */
    struct pairs pairs;
};

/* Bytes of one instance: leaving all n members' GPUs together, and of them leaving a node. */
struct wire {
    double all, inter; /* NAN unknown */
};

struct wire wire_of(unsigned op, double bytes, int n, const struct comm_nodes *comm_nodes);

/* Returns the sums of one instance, without its time. */
struct traffic_sum traffic_of(const struct comm_study *study, const struct comm_instance *in,
                              const struct node_map *node_map);

void traffic_init(struct traffic *t, const struct comm_study *study,
                  const struct node_map *node_map, const struct job_steps *job);
void traffic_release(struct traffic *t);

/* Sender and receiver of a message; -1 unknown. */
void pair_of(const struct comm_instance *in, const struct run *run, int *src, int *dst);

#endif

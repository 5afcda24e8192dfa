/* SPDX-License-Identifier: MIT
 *
 * Communication by kind: one row for all instances of equal operation, element type, size and
 * communicator size. Times are those of transfer (comm.h); bandwidths follow nccl-tests.
 */
#ifndef SPECTER_ANALYSIS_COMM_ROWS_H
#define SPECTER_ANALYSIS_COMM_ROWS_H

#include "analysis/comm.h"
#include "analysis/node_map.h"

enum network_by { NETWORK_UNKNOWN, NETWORK_TOLD, NETWORK_USUAL };

/* The hardware of all ranks. Profiles are borrowed. */
struct machine {
    const struct gpu_profile *gpu; /* NULL: the ranks name none that specter knows, or several */
    const struct network_profile *net; /* NULL unknown */
    enum network_by by;                /* the user said it, or such GPUs usually sit in it */
    bool mixed;                        /* several kinds of GPU */
    int nccl;                          /* run_nccl_version() */
};

/* `net`, `gpu`: what the user says; NULL: what the traces tell. */
void machine_find(struct machine *m, const struct run *run, const struct gpu_profile *gpu,
                  const struct network_profile *net);

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

    /* The model's prediction, over the instances that it can be compared with: all members traced
     * and timed, launched alone. */
    uint64_t compared;
    double expected_ns;         /* mean; NAN when there is none */
    double expected_busbw_GBps; /* bytes / expected_ns x bus factor */
    double of_expected;        /* expected_ns / median transfer of these: share of that bandwidth */
    double factor50, factor80; /* half and 80 % of measured times are within expected_ns x and /
                                * these (model/accuracy.h), the widest of the instances; NAN: one of
                                * them is of a kind that was not measured */

    double total_ns; /* sum over instances of transfer + mean wait: what the row costs a rank */

    /* NCCL's most frequent choice for the instances that its profiler reported. */
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

/* The instances that have rows. */
enum comm_rows_of {
    COMM_ROWS_COLLECTIVES,
    COMM_ROWS_COLLECTIVES_BY_NAME, /* a row for each name of communicators */
    COMM_ROWS_MESSAGES             /* sends and receives */
};

/* The study and its run must outlive rows, which borrow from them. */
void comm_rows_init(struct comm_rows *rows, const struct comm_study *study,
                    const struct comm_context *context, enum comm_rows_of of);
void comm_rows_release(struct comm_rows *rows);

/* The model's figures of a row's operation at another size, on as many ranks and nodes as the
 * row's: bandwidth, and the factor of its 80 % interval. NAN: not known. */
struct comm_expected {
    double busbw_GBps, factor80;
};
struct comm_expected comm_row_expected(const struct machine *m, const struct comm_row *row,
                                       double bytes);

/* The median error of the model, as a share, for operations (p2p: messages) on this network; NAN
 * where too little was measured there. */
double expected_error(const struct machine *m, bool p2p);

/* ---- alltoall.c ----
 *
 * AlltoAll and AlltoAllv: how evenly the members send, and how long an exchange takes from the
 * first entry to the last exit.
 *
 *   wall        last end - first start      } where starts can be compared (comm.h)
 *   moved       last end - last start       }
 *   imbalance   largest / mean of the bytes that the members send
 *   throughput  sum of the members' bytes / wall
 *
 * By operation, type and group. What is not known is NAN. */
struct alltoall_row {
    uint8_t op, dtype;
    const char *group; /* borrowed from the run */
    int comm_size;
    uint64_t instances;
    uint64_t whole; /* of them with the size of every member known: in bytes and imbalance */
    double bytes;   /* sum over them of what all members send */
    double imbalance, imbalance_max; /* mean and largest over them */
    uint64_t timed;                  /* of them with a wall time, launched alone: in what follows */
    double wall_ns, moved_ns;        /* means */
    double bw_GBps;                  /* their bytes / sum of their wall times */
};

struct alltoalls {
    struct alltoall_row *list; /* owned; most bytes first */
    size_t count, cap;
};

bool is_alltoall(const struct comm_instance *in);

/* The values of one instance; NAN where they are not known. */
double alltoall_wall_ns(const struct comm_instance *in);
double alltoall_moved_ns(const struct comm_instance *in);
double alltoall_imbalance(const struct comm_instance *in);

void alltoalls_init(struct alltoalls *x, const struct comm_study *study);
void alltoalls_release(struct alltoalls *x);

/* ---- slow_comm.c ----
 *
 * A communicator that takes longer for the same collective than the others of its kind: one slow
 * link or GPU in it, which no comparison of starts shows, as all of its members take longer.
 *
 *   kind     same operation, type, size, number of members, and layout over nodes
 *   median   of a communicator's transfers (comm.h), of instances that are whole and alone
 *   usual    median of the medians of the other communicators of the kind
 *   lost     (median - usual) * instances: of each member */
struct slow_comm {
    const struct comm_instance *sample; /* one of its instances; NULL: nothing to compare */
    size_t alike;                       /* other communicators of the kind */
    uint64_t count;                     /* instances */
    double median_ns, usual_ns;
    double lost_ns;
};

/* The communicator that loses most among those that take `factor` times as long as usual or more.
 */
void slow_comm_find(struct slow_comm *out, const struct comm_study *study,
                    const struct node_map *node_map, double factor);

#endif

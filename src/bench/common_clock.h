/* SPDX-License-Identifier: MIT
 *
 * One clock for the times of all ranks: that of rank 0's host (CLOCK_REALTIME). How far the hosts
 * of other nodes are ahead of it was measured before and after (bench/drift.h); between the two it
 * is taken to change on a straight line. Without an `after` the line is that of `before`.
 */
#ifndef SPECTER_BENCH_COMMON_CLOCK_H
#define SPECTER_BENCH_COMMON_CLOCK_H

#include "bench/drift.h"
#include "bench/p2p.h"

struct bench_common_clock {
    int ranks; /* 0: nothing was measured, times stay as they are */
    struct bench_host_line {
        int64_t at_ns;        /* of rank 0's host */
        double ahead_us, ppm; /* then; and its change, us a second */
    } * lines;                /* owned; by rank, all 0 on rank 0's node */
};

/* after may be NULL; node_of: by rank. */
void bench_common_clock_init(struct bench_common_clock *c, const struct bench_drift_log *before,
                             const struct bench_drift_log *after, const int *node_of);
void bench_common_clock_release(struct bench_common_clock *c);

/* A time of that rank's host, on the common clock. */
int64_t bench_common_clock_ns(const struct bench_common_clock *c, int rank, int64_t host_ns);

/* Puts the times of a configuration on it. */
void bench_common_clock_apply(const struct bench_common_clock *c, struct bench_p2p_done *done);

#endif

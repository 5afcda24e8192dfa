/* SPDX-License-Identifier: MIT
 *
 * Measures how fast the clocks of a job run against each other: each GPU against its host, each
 * host against rank 0's. Every second or so all ranks make a few AllReduces of one element. Such a
 * call ends at the same moment on all of them: the event after it has the GPU's time of that
 * moment, and the host reads its clock when it sees the event.
 *
 *   GPU against host: the call of a moment that the host saw soonest, which is the one where the
 *   GPU's clock is furthest ahead of the host's.
 *
 *   Host against rank 0: the median, over the calls of a moment, of the difference of both clocks.
 *
 * The differences over time are fitted with a line; its slope is the drift, in us a second, which
 * is ppm. The GPU's time is a sum of the times from one event to the next, since the library gives
 * a time as a float of milliseconds, which holds 0.06 us of a second.
 */
#ifndef SPECTER_BENCH_DRIFT_H
#define SPECTER_BENCH_DRIFT_H

#include "bench/collective.h"
#include "bench/p2p.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_DRIFT_CALLS 16         /* AllReduces of a moment */
#define BENCH_DRIFT_GOOD 1.0         /* ppm: less is excellent */
#define BENCH_DRIFT_INVESTIGATE 10.0 /* ppm: more is to be investigated */
#define BENCH_DRIFT_CHANGE 1.0       /* ppm: of a window, against the line of all; more is told */
#define BENCH_DRIFT_MOMENTS_MIN 3    /* of a line, and of a window */

/* Two clocks at a moment. */
struct bench_drift_point {
    double s;  /* since the first moment, by rank 0's host */
    double us; /* how far the one is ahead of the other */
};

/* A line through points. Not a number where fewer than BENCH_DRIFT_MOMENTS_MIN were taken. */
struct bench_drift_line {
    double ppm;        /* the slope: above 0 the clock is fast */
    double low, high;  /* its 90 % interval, by Student's t: the wider one of the points about the
                        * line, and of the windows' slopes, which clocks that wander show */
    double noise_us;   /* standard deviation of the points about the line */
    double offset_us;  /* of the line, in the middle of the points */
    double change_ppm; /* the window whose own slope is farthest from ppm: the difference */
    double change_s;   /* where that window begins */
    bool changes;      /* more than BENCH_DRIFT_CHANGE and three standard errors of both */
};

/* Fits n points by least squares; the time from the first to the last is cut into `windows` equal
 * ones for the change. */
struct bench_drift_line bench_drift_fit(const struct bench_drift_point *points, size_t n,
                                        int windows);

/* The verdict on a drift by BENCH_DRIFT_GOOD and BENCH_DRIFT_INVESTIGATE: "excellent", "good",
 * "investigate"; "not known" where it is no number. */
const char *bench_drift_verdict(double ppm);

/* Of each rank: its GPU's clock against its host's, its host's against rank 0's. */
struct bench_drift_log {
    int ranks;
    size_t n, cap_gpu, cap_host;
    struct bench_drift_point *gpu, *host; /* owned; of moment i and rank r at [i * ranks + r]; whole
                                             us and ns, so that a file holds them exactly */
    int64_t origin_ns;                    /* of the first moment, by rank 0's host */
};

void bench_drift_log_release(struct bench_drift_log *log);

/* Adds a moment, whose points the caller fills: the first of them is gpu[at], host[at]. Returns at.
 */
size_t bench_drift_log_add(struct bench_drift_log *log);

/* The points of one rank; the caller frees them. */
struct bench_drift_point *bench_drift_of(const struct bench_drift_log *log,
                                         const struct bench_drift_point *list, int rank);

struct bench_drift_plan {
    double seconds, every; /* in all; from one moment to the next, at most 1 s */
    bool (*stop)(void);    /* a rank that wants to end early returns true, then all do */
};

/* A moment a second, at least 30 of them. */
struct bench_drift_plan bench_drift_plan_of(double seconds, bool (*stop)(void));

/* Takes moments for so long. Fills log on every rank. 0; 1: a rank wanted to end early; -1 with e
 * filled: a rank failed (what was taken before is in log). The backend has host_ns. */
int bench_drift(const struct bench_drift_plan *plan, const struct bench_communicator *on,
                struct bench_drift_log *log, struct err *e);

/* ---- the common clock ----
 *
 * One clock for the times of all ranks: that of rank 0's host (CLOCK_REALTIME). How far the hosts
 * of other nodes are ahead of it was measured before and after; between the two it
 * is taken to change on a straight line. Without an `after` the line is that of `before`. */
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

/* SPDX-License-Identifier: MIT
 *
 * Times messages between any two ranks over sizes, in four modes:
 *
 *   ping-pong   a message and its answer of the same size; the time is half of both
 *   one way     a message; the receiver acknowledges it by 1 byte
 *   both        two ranks send to each other at once
 *   all         every rank sends to every other at once
 *
 * The time of a message one way ("two-sided") is taken on the source's clock alone: from before the
 * send until the acknowledgement has come, less the acknowledgement's own time, which is half of
 * that pair's ping-pong of 1 byte. So it begins when the source sends and ends when the receiver
 * has everything, with no two clocks compared, and the rate of a link shows in its own direction
 * only. What one clock cannot tell is which way of a pair a latency lies: each has half of it. The
 * device times of the send and of the receive alone are kept, too; either includes waiting for the
 * other side, or ends before it.
 *
 * Each repetition is a range of NVTX on the ranks that take part (bench_p2p_name), while the host
 * enqueues it.
 *
 * Of both and all a repetition's time is the largest of the ranks that take part. Only these work,
 * the others wait in the next exchange.
 */
#ifndef SPECTER_BENCH_P2P_H
#define SPECTER_BENCH_P2P_H

#include "bench/collective.h"
#include "bench/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_P2P_SEED 42
#define BENCH_P2P_SIZES 31 /* 1 B to 1 GiB, each twice the one before */

enum bench_p2p_mode {
    BENCH_P2P_PING_PONG,
    BENCH_P2P_ONE_WAY,
    BENCH_P2P_BOTH,
    BENCH_P2P_ALL,
    BENCH_P2P_MODES
};

const char *bench_p2p_mode_name(enum bench_p2p_mode mode); /* "ping_pong", "one_way", ... */

struct bench_p2p_config {
    enum bench_p2p_mode mode;
    int id;       /* counted within its mode by source, destination and size, from 0 */
    int src, dst; /* ping-pong, both: src < dst; all: -1 */
    uint64_t bytes;
};

/* The configurations one way of all directed pairs, in the order of measuring: by id, then shuffled
 * from the last to the second, each with one at or before it (Fisher and Yates), by the generator
 * splitmix64 of Steele, Lea and Flood 2014 from `seed`, modulo. What an id stands for does not
 * depend on the seed. Returns their number; *out is owned by the caller. */
size_t bench_p2p_configs(int ranks, const uint64_t *sizes, size_t nsizes, uint64_t seed,
                         struct bench_p2p_config **out);

/* Microseconds from nanoseconds of at most one decimal, which is how files hold the times of a
 * repetition: what is read from them equals what was measured. */
double bench_p2p_us(double ns);

/* One repetition; times in microseconds, of whole tenths of a nanosecond (bench_p2p_us). */
struct bench_p2p_repeat {
    /* Times since 1970: of the clock of the source's host, which the device's times are put onto at
     * the end of a configuration; bench/drift.h makes it rank 0's. */
    int64_t start_ns;
    /* Likewise of the destination's host: where the receive begins; both and all: 0. */
    int64_t receive_start_ns;
    /* Likewise when the host began and ended the call that sends, and the one that receives. */
    int64_t calls_ns[2][2];
    double exchange; /* with the acknowledgement, or the answer; both and all: as `time` */
    double send;     /* the send alone on the source's device; NAN: both and all */
    double receive;  /* the receive alone on the destination's */
    double time;     /* of the message: two-sided */
};

/* The name of a repetition in traces: "p2p_cfg0042_s0d1_sz1048576_r0"; of the other modes with
 * their name in front. */
#define BENCH_P2P_NAME 64
const char *bench_p2p_name(const struct bench_p2p_config *c, size_t repetition,
                           char name[BENCH_P2P_NAME]);

struct bench_p2p_done {
    struct bench_p2p_config config;
    struct bench_p2p_repeat *repeats; /* owned by the log */
    size_t nrepeats;
    double celsius; /* of the warmest GPU that took part; NAN: not known */
};

/* The measured rows, in the order of measuring. */
struct bench_p2p_log {
    int ranks;
    struct bench_p2p_done *list; /* owned */
    size_t n, cap;
};

void bench_p2p_log_release(struct bench_p2p_log *log);

/* Of the times of its messages. */
struct bench_stats bench_p2p_stats(const struct bench_p2p_done *done);

/* Adds a configuration with room for its repetitions; good until the next one is added. */
struct bench_p2p_done *bench_p2p_log_add(struct bench_p2p_log *log,
                                         const struct bench_p2p_config *config, size_t nrepeats);

struct bench_p2p_plan {
    const uint64_t *sizes; /* ascending */
    size_t nsizes;
    uint64_t seed;
    int warmup, repeat;
    bool (*stop)(void); /* a rank that wants to end early returns true, then all do; may be NULL */
    /* On all ranks, before configuration `n` of those that are measured; -1 with e filled on all of
     * them ends the benchmark. May be NULL. */
    int (*before)(size_t n, void *arg, struct err *e);
    /* On the first rank, after every configuration; -1 with e filled ends the benchmark. May be
     * NULL. */
    int (*done)(const struct bench_p2p_done *done, void *arg, struct err *e);
    void *arg;
};

/* Measures the ping-pongs, then one way in the plan's order, then both and all. Fills log on every
 * rank. 0; 1: a rank wanted to end early; -1 with e filled: a rank failed (what was measured before
 * is in log). Sizes for which a rank has too little memory are passed over, with a note in result.
 * The backend has messages, host_ns and gpu. */
int bench_p2p(const struct bench_p2p_plan *plan, const struct bench_communicator *on,
              struct bench_p2p_log *log, struct bench_result *result, struct err *e);

#endif

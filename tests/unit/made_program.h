/* SPDX-License-Identifier: MIT
 *
 * Runs of a few calls as programs (sim/program). A call takes a nanosecond; what it launches starts
 * then at the earliest.
 */
#ifndef SPECTER_TEST_MADE_PROGRAM_H
#define SPECTER_TEST_MADE_PROGRAM_H

#include "made_device.h"
#include "sim/program/program.h"
#include "test.h"

/* A run of n ranks and one communicator of all of them, 0. */
static inline void start_run(struct run *run, int n)
{
    device_run_on(run, n, "", COVER_NCCL | COVER_DEPS);
    device_comm(run, "w", 0, 1, n);
}

static inline struct op *add_kernel(struct run *run, int r, int stream, int64_t host_ns,
                                    int64_t dur_ns)
{
    return device_op(run, r, stream, host_ns, host_ns + 1, host_ns, host_ns + dur_ns);
}

static inline struct op *add_coll(struct run *run, int r, int stream, int64_t host_ns,
                                  int64_t dur_ns, int64_t seq)
{
    return device_coll(add_kernel(run, r, stream, host_ns, dur_ns), SPECTER_ALLREDUCE, 0, seq,
                       1 << 20);
}

static inline struct op *add_p2p(struct run *run, int r, enum specter_comm_op kind, int peer,
                                 int64_t host_ns, int64_t dur_ns, int group)
{
    struct op *op = device_coll(add_kernel(run, r, 1, host_ns, dur_ns), kind, 0, 0, 1 << 20);
    op->coll.peer = peer;
    op->coll.group = group;
    return op;
}

/* Runs the program once more, with costs that the test has set. */
static inline void run_again(struct program *p)
{
    struct err e = {0};
    CHECK_INT(program_run(p, &e), 0);
    CHECK_STR(e.msg, "");
}

/* Makes and runs the program with the measured times and no launch latency. */
static inline void replay_measured(struct program *p, const struct run *run)
{
    program_init(p, run, 0, false);
    program_measured(p);
    run_again(p);
}

/* The same with what the apart program teaches. */
static inline void replay_learned(struct program *p, const struct run *run)
{
    struct program isolated;
    program_init(&isolated, run, 0, true);
    program_init(p, run, 0, false);
    program_fit_latency(&isolated, 0);
    program_learn(p, &isolated);
    program_release(&isolated);
    program_measured(p);
    run_again(p);
}

/* The program cannot be run to its end. */
static inline struct err replay_stuck(const struct run *run)
{
    struct program p;
    struct err e = {0};
    program_init(&p, run, 0, false);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), -1);
    program_release(&p);
    return e;
}

static inline void check_span(const struct program *p, size_t rank, size_t op, int64_t start,
                              int64_t end)
{
    struct sim_span span = program_span(p, rank, op);
    CHECK_INT(span.start_ns, start);
    CHECK_INT(span.end_ns, end);
}

static inline void program_done(struct program *p, struct run *run)
{
    program_release(p);
    run_release(run);
}

#endif

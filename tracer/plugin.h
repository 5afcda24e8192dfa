/* SPDX-License-Identifier: MIT
 *
 * The tracer as NCCL's profiler plugin: which algorithm, protocol and how many channels NCCL took
 * for an operation, and how long its kernels ran. The same library is preloaded and opened by NCCL,
 * so both sides meet in memory.
 *
 * NCCL names an operation by its own counters, which skip and reorder; it is found again by what
 * both know of it. Each recorded call leaves a note: its communicator, buffers, bytes and root or
 * peer. An event of NCCL takes the one note that fits, and where none does, or two, nothing is
 * written: a missing line is better than a wrong one.
 *
 *   on the calling thread      while the call (of a group: its end) is under way, the event is of
 *                              one of the calls that it launches
 *   on any other               (non-blocking communicators) the event is of any call of its
 *                              communicator that has had none; not where graphs were captured,
 *                              whose launches bring events of their own
 *
 * Whose event it is: NCCL's hash of the unique id tells at once; for a split, whose hash is NCCL's
 * own, the first event on the calling thread does.
 *
 * Calls of NCCL obey the law of hooks. Events live in a fixed table, which the writer looks
 * through: one is written when all its kernels have ended, or without their time when they do not.
 */
#ifndef SPECTER_TRACER_PLUGIN_H
#define SPECTER_TRACER_PLUGIN_H

#include "format.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct comm_init;

#define PLUGIN_NO_NOTE 0

/* A communicator is known now: how many nodes it spans, if NCCL has said so; else `init`'s. */
int32_t plugin_nodes(const struct comm_init *init);

/* Around an operation that is recorded: before the real call, and after it with the number that it
 * got (-1: none), or when it failed. */
void plugin_note(struct call *c);
void plugin_number(const struct call *c, int64_t seq);
void plugin_drop(const struct call *c);

/* An operation that is not recorded, before the real call: what fits it has no note. */
void plugin_unseen(struct call *c);

/* The thread's call, or its group, has launched what it will. failed: a group, and nothing of it
 * was launched. */
void plugin_launched(bool failed);

/* For the writer: the lines that are complete; `last`: all. */
void plugin_visit(void (*write)(const struct plugin_line *l), bool last);

void plugin_reset(void); /* for the child of a fork */

/* ---- what NCCL tells, in any version of its interface (plugin_versions.c) ---- */

/* A communicator as NCCL describes it; all 0 and rank -1 up to version 3. */
struct plugin_comm {
    uint64_t hash; /* 0: not told */
    int nodes, ranks, rank;
};

/* *context: the handle of the communicator; NULL: there is no room, or nothing is recorded. Returns
 * whether its events are wanted. */
bool plugin_begin(void **context, const struct plugin_comm *told);
void plugin_end(void *context);

/* An operation, as an event has it. */
struct plugin_op {
    unsigned op; /* SPECTER_COMM_OP_COUNT: not one that is recorded so */
    uint64_t count;
    enum specter_dtype type;
    const void *send, *recv;
    int64_t rank, peer;
    const char *algo, *proto;
    uint8_t channels; /* 0: not known */
};

/* The handle of what is no event of ours, for all that is not joined: NCCL leaves out what belongs
 * to events without one. */
#define PLUGIN_OTHER ((void *)~(uintptr_t)0)

/* The handle of the event; that of one of its kernels, `of` the event's. Times are the GPU's. */
void *plugin_op_start(void *context, const struct plugin_op *op);
void plugin_op_stop(void *event);
void *plugin_kernel_start(void *of, uint64_t time_ns);
void plugin_kernel_stop(void *kernel, uint64_t time_ns);

#endif

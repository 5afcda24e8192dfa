/* SPDX-License-Identifier: MIT
 *
 * A rank as a graph of dependencies, for Chakra execution traces: what the host did, what it
 * launched, and what had to wait for what.
 *
 * Host nodes are the stretches of a thread between two of its calls, call included: each depends on
 * the one before it on the thread, so that a thread's nodes add up to its recorded time. After a
 * synchronisation the thread depends on the device work it waited for; a thread that begins depends
 * on the latest node of another. Device nodes depend on the call that launched them, on the work
 * before them on their stream, and on the work that an event they wait for stands behind. Work of
 * which no call is known has a node in front of it that holds the stream's recorded gap. Where more
 * is waited for at once than a node has room for, nodes without length join it.
 *
 * Untimed kernels are one device node for each of the rank's launches, with the time that a replay
 * takes for theirs (sim/program/untimed.c). Operations of one group on a stream are one kernel:
 * their nodes stand beside each other, and what follows on the stream depends on all of them. A
 * message of a group to the rank itself has no node, as its copy is a part of the group's time.
 */
#ifndef SPECTER_REPORT_CHAKRA_GRAPH_H
#define SPECTER_REPORT_CHAKRA_GRAPH_H

#include "trace/run.h"

#define CHAKRA_NONE UINT32_MAX
#define CHAKRA_WAITS 6                 /* what is waited for at once, before it is joined */
#define CHAKRA_DEPS (CHAKRA_WAITS + 2) /* with the launch, and what is before on the stream */

enum chakra_kind { CHAKRA_HOST, CHAKRA_GAP, CHAKRA_JOIN, CHAKRA_DEVICE };

struct chakra_node {
    enum chakra_kind kind;
    int64_t start_ns, dur_ns;
    const struct op *op; /* CHAKRA_DEVICE, and CHAKRA_HOST where it launched one; else NULL */
    const struct sync_call *sync;    /* CHAKRA_HOST that ends with it; else NULL */
    const struct launches *launches; /* of untimed kernels, as op; else NULL */
    uint32_t deps[CHAKRA_DEPS];      /* indices of earlier nodes */
    uint32_t ndeps;
};

struct chakra_graph {
    struct chakra_node *list; /* owned; every node after what it depends on */
    size_t count, cap;
    uint64_t untimed; /* operations without device time: not in it */
};

/* Of run->ranks[r]. untimed_ns: by the rank's launches, what their kernels take; 0: not in the
 * graph. NULL: all 0. */
void chakra_graph_init(struct chakra_graph *g, const struct run *run, size_t r,
                       const int64_t *untimed_ns);
void chakra_graph_release(struct chakra_graph *g);

/* Communication that involves no other rank: a message to itself, or a communicator of one. */
bool chakra_alone(const struct run *run, const struct rank *rank, const struct op *op);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The contents of the graphs that a rank captured and launched: the captured ops, which have no
 * times, and the kernels that were not recorded.
 *
 *     struct graphs g;
 *     graphs_init(&g, rank);
 *     const struct graph *what = graphs_find(&g, op->graph);
 *     for (size_t i = 0; what != NULL && i < what->nops; i++)
 *         use(&rank->ops[what->ops[i]]);
 *     graphs_release(&g);
 */
#ifndef SPECTER_TRACE_GRAPH_H
#define SPECTER_TRACE_GRAPH_H

#include "trace/run.h"

struct graph {
    int32_t id;          /* as in op.graph */
    const uint32_t *ops; /* [nops] indices into the rank's ops, in their order */
    size_t nops;
    uint64_t comms;      /* of them collectives, sends and receives */
    uint64_t comm_bytes; /* of those, as far as known */
    uint64_t launches;   /* kernels in it that no op stands for */
};

struct graphs {
    struct graph *list; /* owned, by id */
    size_t count, cap;
    uint32_t *ops; /* owned */
};

void graphs_init(struct graphs *g, const struct rank *rank);
void graphs_release(struct graphs *g);
const struct graph *graphs_find(const struct graphs *g, int32_t id); /* NULL: nothing captured */

/* Sets OP_COMM_ONLY on launches of graphs of which all is known and is communication. */
void graphs_flag(struct rank *rank);

#endif

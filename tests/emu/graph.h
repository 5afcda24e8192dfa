/* SPDX-License-Identifier: MIT
 *
 * Shared by capture.c and graph.c: a graph is a list of nodes in the order of capture, each of
 * which comes after earlier ones.
 */
#ifndef EMU_GRAPH_H
#define EMU_GRAPH_H

#include "engine.h"

struct emu_node {
    unsigned index;              /* in the graph */
    struct emu_work *work;       /* counted; NULL for an external event record */
    struct CUevent_st *external; /* looked up again at each launch */
    struct emu_frontier after;
};

struct emu_graph {
    struct emu_node **nodes; /* each on its own: programs hold their addresses */
    unsigned count;
};

/* Takes its own reference of the work. */
struct emu_node *emu_graph_add(struct emu_graph *graph, struct emu_work *work,
                               struct CUevent_st *external);
void emu_graph_clear(struct emu_graph *graph);

void emu_frontier_add(struct emu_frontier *frontier, struct emu_node *node);
void emu_frontier_join(struct emu_frontier *to, const struct emu_frontier *from);

#endif

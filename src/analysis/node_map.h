/* SPDX-License-Identifier: MIT
 *
 * The ranks that share a node (a host), and the nodes that the members of each communicator are
 * spread over. Taken from, in this order:
 *
 *   hosts    every rank's trace names its host, and nothing contradicts it: NCCL counted as many
 *            nodes where it told, and no host holds more ranks than a node of the network has GPUs
 *   layout   ranks fill nodes in order, as launchers do: the size of a node is what all traces say
 *            that their machine has, or, where a host holds too many ranks to be one machine, that
 *            of the network. An assumption, which the report says
 *
 * NCCL's own word on a communicator's nodes (comm->nodes) counts first, for that one. Nodes that
 * none of these tells are not known.
 */
#ifndef SPECTER_ANALYSIS_NODE_MAP_H
#define SPECTER_ANALYSIS_NODE_MAP_H

#include "model/cost.h"
#include "trace/run.h"

enum node_map_source { NODE_MAP_UNKNOWN, NODE_MAP_HOSTS, NODE_MAP_LAYOUT };

/* The members of one communicator. */
struct comm_nodes {
    int nodes;     /* 0 unknown */
    int per_node;  /* members on the fullest node; 0 unknown */
    double across; /* share of its ordered pairs (a, b), a != b, that are on two nodes; NAN unknown.
                      Where only the number of nodes is known: as if they held equally many */
};

struct node_map {
    enum node_map_source by;
    int per_node; /* NODE_MAP_LAYOUT: ranks on a node */
    int nodes;    /* that the ranks are on; 0 where one's is not known */
    int world;
    int *node;                /* owned [world] by global rank; -1 unknown */
    struct comm_nodes *comms; /* owned [run->ncomms] */
};

/* `net`: of the machine; NULL unknown. Needs a finished run. */
void node_map_init(struct node_map *p, const struct run *run, const struct network_profile *net);
void node_map_release(struct node_map *p);

/* Returns whether two ranks sit on different nodes: 1 yes, 0 no, -1 unknown. Global ranks, of which
 * either may be unknown (-1); comm: index of one that both are in, which may tell; -1 none. */
int node_map_across(const struct node_map *p, const struct run *run, int a, int b, int32_t comm);

/* The layout of the communicator, for the models. False: not known. */
bool node_map_layout(const struct node_map *p, const struct run *run, int32_t comm,
                     struct layout *out);

#endif

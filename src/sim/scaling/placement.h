/* SPDX-License-Identifier: MIT
 *
 * Where ranks sit: which node a rank is on, as the launcher laid them out, or as it is to.
 *
 *   block      rank r on node r / GPUs of a node (the default of launchers)
 *   cyclic     round robin over the nodes, as srun --distribution=cyclic does
 *   spread=K   blocks of K ranks: nodes have more GPUs than are used
 *   file=PATH  a list: lines of `HOST`, `HOST slots=K` or `HOST:K`, filled in order as a
 *              hostfile is; or `RANK HOST`, one for each rank. `#` begins a comment
 *
 * A recording that names the hosts of all its ranks tells how it was laid out itself.
 *
 *     struct placement p;
 *     if (placement_parse(&p, "spread=4", &arena, e) == 0 && placement_check(&p, net, 64, e) == 0)
 *         node = placement_node(&p, net, 17, 64);
 */
#ifndef SPECTER_SIM_SCALING_PLACEMENT_H
#define SPECTER_SIM_SCALING_PLACEMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "model/profile.h"
#include "trace/run.h"

enum placement_kind { PLACE_BLOCK, PLACE_CYCLIC, PLACE_LISTED };

/* All zero: block, as many ranks on a node as it has GPUs. */
struct placement {
    enum placement_kind kind;
    int per_node;  /* ranks on a node; 0: as many as it has GPUs */
    const int *of; /* PLACE_LISTED: [count] node of each rank; in the arena */
    int64_t count;
};

/* Parses --placement. 0, or -1 with e filled: ERR_USAGE, or ERR_INPUT for a file. */
int placement_parse(struct placement *p, const char *text, struct arena *arena, struct err *e);

/* Checks that so many ranks fit. A node must not hold more than it has GPUs, a list must name all
 * ranks. 0, or -1 with e filled (ERR_USAGE). */
int placement_check(const struct placement *p, const struct network_profile *net, int64_t world,
                    struct err *e);

/* Ranks on a full node. */
int placement_per_node(const struct placement *p, const struct network_profile *net);

/* The node of a rank, of 0 .. nodes-1. */
int64_t placement_node(const struct placement *p, const struct network_profile *net, int64_t rank,
                       int64_t world);

/* Its number among the ranks of its node, from 0. */
int64_t placement_slot(const struct placement *p, const struct network_profile *net, int64_t rank,
                       int64_t world);

/* Returns how many nodes so many ranks take. */
int64_t placement_nodes(const struct placement *p, const struct network_profile *net,
                        int64_t world);

/* Finds the layout of the run by the hosts of its ranks. False where they do not tell: some rank's
 * is not known, all are on one host, or a host holds more ranks than the network's nodes have GPUs,
 * which *why then says (else NULL). */
bool placement_of_hosts(struct placement *p, const struct run *run, int world,
                        const struct network_profile *net, struct arena *arena, const char **why);

/* "block", "cyclic", "blocks of 4 a node", "as listed"; in the arena. */
const char *placement_text(const struct placement *p, struct arena *arena);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Weak scaling: the job is repeated `scale` times, rank r of replica i being rank r + i * world.
 * Which communicators then reach into all replicas follows from their rank sets:
 *
 *   the whole world            grows: data-parallel (and what the world does together)
 *   a split with gaps          grows: in the usual layout the data-parallel groups are strided
 *   a split of adjacent ranks  stays: tensor-parallel
 *   one rank of several, or ranks that the trace does not tell and that are not the world: stays
 *
 * Only the recorded ranks are simulated: replicas are symmetric. A grown communicator is priced
 * with all its members, on the nodes that they occupy when ranks fill nodes in order.
 */
#ifndef SPECTER_SIM_GROW_H
#define SPECTER_SIM_GROW_H

#include "model/cost.h"
#include "trace/run.h"

#define GROW_GPUS_MAX (1 << 30)

enum grow_rule { GROW_WORLD, GROW_STRIDED, STAY_ADJACENT, STAY_UNKNOWN, STAY_ALONE, GROW_RULES };

struct growth {
    const struct run *run; /* borrowed */
    int world;             /* ranks of the recorded job */
    uint8_t *rule;         /* [run->ncomms] enum grow_rule; owned */
    int **sorted;          /* [run->ncomms] members in order; NULL when one is not known; owned */
};

void growth_make(struct growth *g, const struct run *run);
void growth_release(struct growth *g);

/* Does the network hold that many times the job? -1 with e filled (ERR_USAGE). */
int growth_check(const struct growth *g, const struct network_profile *net, int64_t scale,
                 struct err *e);

bool growth_grows(const struct growth *g, int comm);

/* Does any? */
bool growth_any(const struct growth *g);

/* Where the members of a communicator sit at that scale. */
struct layout growth_layout(const struct growth *g, int comm, const struct network_profile *net,
                            int64_t scale);

#endif

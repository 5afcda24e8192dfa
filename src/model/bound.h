/* SPDX-License-Identifier: MIT
 *
 * What no communication can be faster than: the bytes that must cross each kind of link, at the
 * raw rates that profiles document. It knows no algorithm and no fitted parameter, so that a model
 * can be held against it.
 *
 * S bytes (full buffer) by n ranks; the links of one GPU, in one direction, must carry at least
 *
 *     AllReduce                    2(n-1)/n S: n sums become one in n-1 transfers of S over n GPUs,
 *                                  and reach all in n-1 more; S where switches reduce
 *     AllGather, ReduceScatter,    (n-1)/n S: what the other ranks hold, or get
 *     AlltoAll(v), Gather, Scatter
 *     Broadcast, Reduce            S
 *
 * and the network ports of one of M nodes, with g ranks on the fullest and h on the emptiest,
 *
 *     AllReduce                    2(M-1)/M S; S where switches reduce
 *     AllGather, ReduceScatter     (n-h)/n S
 *     Broadcast, Reduce            S
 *     AlltoAll(v)                  g(n-g)/n S, or the same of h when that is more
 *     Gather, Scatter              (n-g)/n S
 *
 * A GPU that also reaches others past its fabric, through its NIC, has both rates. Each GPU's
 * memory is read for what it gives and written for what it gets. An NVLink domain of several nodes
 * counts as one node. Assumed: nothing is compressed.
 */
#ifndef SPECTER_MODEL_BOUND_H
#define SPECTER_MODEL_BOUND_H

#include "model/cost.h"

struct comm_bound {
    double us; /* the largest of the others */
    double intra_us, inter_us, memory_us;
};

/* in_switch: switches may reduce (NVLS, SHARP). A rate that the profiles do not know bounds
 * nothing. `where` must fit the network, as model_collective() checks. */
struct comm_bound comm_bound(const struct gpu_profile *gpu, const struct network_profile *net,
                             enum specter_comm_op op, double bytes, struct layout where,
                             bool in_switch);

/* One message; across: between two nodes, through the ports beside its GPU. */
struct comm_bound comm_bound_p2p(const struct gpu_profile *gpu, const struct network_profile *net,
                                 double bytes, bool across);

/* Returns whether this algorithm (struct comm_cost) reduces in switches. */
bool comm_in_switch(const char *algo);

#endif

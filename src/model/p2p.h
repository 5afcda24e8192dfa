/* SPDX-License-Identifier: MIT
 *
 * The time of operations that NCCL makes of sends and receives: AlltoAll(v), Gather, Scatter. NCCL
 * has no estimate of them. For comm.c alone; everybody else asks cost.h.
 */
#ifndef SPECTER_MODEL_P2P_H
#define SPECTER_MODEL_P2P_H

#include "model/comm_price.h"

/* `op`: AlltoAll, AlltoAllv, Gather or Scatter. `forced`: NCCL_PROTOS, or the protocol to take. */
void p2p_collective(const struct topo_view *s, enum specter_comm_op op, enum nccl_proto forced,
                    int channels, double bytes, struct comm_cost *out);

#endif

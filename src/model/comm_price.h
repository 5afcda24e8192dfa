/* SPDX-License-Identifier: MIT
 *
 * From what an operation asks of the hardware to a time. A load says what is asked; comm_demand.c
 * and p2p.c make loads, comm_price() prices them. For those and comm.c alone; everybody else asks
 * cost.h. Derivations: README.md beside this file.
 */
#ifndef SPECTER_MODEL_COMM_PRICE_H
#define SPECTER_MODEL_COMM_PRICE_H

#include "model/topo_view.h"

/* S: the operation's bytes (cost.h). */
struct comm_demand {
    enum nccl_proto proto;
    int channels;
    double steps, hops; /* on the longest path, within nodes and between them */
    double start_us;    /* beside what every operation and protocol takes to start */
    /* The time of S, when all of a link's rate is data, */
    double link_us;    /* on the links of the busiest GPU, */
    double nic_us;     /* on the NICs of the busiest node, */
    double host_us;    /* on the path through the host. */
    double fill_us;    /* until the first part of S has passed all stages */
    double copied;     /* bytes that a GPU copies to itself */
    double block_step; /* bytes that a block moves in a step, with LL */
    double block_ends; /* and at both ends */
    double stages;     /* between nodes, that a part of S passes in a row */
    double late;       /* of a way from member to member: share of the time on the wire in which
                        * the last member still waits */
    bool one_way;      /* around a ring, from the root or to it */
    bool hidden;       /* steps of Simple go on while data flows: a ring's */
};

/* t(bytes): `share` of them at that rate. */
double comm_us(double bytes, double share, double GBps);

/* `bus_bytes`: S x bus factor, for the rate that is reported. */
void comm_price(const struct topo_view *s, const struct comm_demand *load, double bus_bytes,
                struct comm_cost *out);

/* The load of an algorithm of NCCL's for `op`, whose combination NCCL allows. */
void comm_demand_of(const struct topo_view *s, enum specter_comm_op op, enum nccl_algo algo,
                    enum nccl_proto proto, int channels, double bytes, struct comm_demand *out);

#endif

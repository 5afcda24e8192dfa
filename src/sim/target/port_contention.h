/* SPDX-License-Identifier: MIT
 *
 * Transfers of several communicators that leave a node through the same NIC: where a node has fewer
 * of them than GPUs, ranks that sit next to each other use the same one, and their communicators
 * meet there. GPU i of g has NIC i n / g of n (port_contention_place()); only ranks that are
 * simulated do. The model's time of a transfer is that of one of them alone. A NIC has two
 * directions: collectives use both, a message leaves its sender and enters its receiver. What a
 * transfer uses of one when it is alone there is the time that its bytes take at the NIC's rate /
 * its own time, both as the model says (comm_cost.nic_us, us): a small one waits for latencies, and
 * leaves room.
 *
 * Ports that a GPU has for itself are not shared here: of sixteen jobs at four times their size one
 * showed that transfers of one rank took time of each other there, and none was predicted better
 * for it (README.md, "Beside communication").
 *
 * Members of a collective are alike in this: the NICs of the first PORT_CONTENTION_MEMBERS stand
 * for all.
 */
#ifndef SPECTER_SIM_TARGET_PORT_CONTENTION_H
#define SPECTER_SIM_TARGET_PORT_CONTENTION_H

#include "sim/target/retarget.h"

#define PORT_CONTENTION_MEMBERS 32

/* A transfer on a link of the engine. */
struct link_use {
    uint32_t cost; /* of the program; its transfer is costs[cost].target */
    uint32_t rank; /* index into run->ranks */
    uint32_t own;  /* link of the rank's NIC, and */
    uint32_t link; /* the one that it is on, on the hardware that was placed last; the engine's */
    uint32_t set_link; /* the link that the engine has now; SIM_NONE */
    uint32_t set_ppm;  /* and the share of it */
    uint8_t direction; /* out of the node, or into it */
    bool unshared;     /* no other transfer is there, or another use of this one stands for it */
    double share;
};

struct port_contention {
    struct link_use *uses; /* owned; by cost */
    size_t count, cap;
    uint32_t nlinks;
};

/* Adds links to the program, with no shares. To be released. */
void port_contention_init(struct port_contention *l, struct program *p);
void port_contention_release(struct port_contention *l);

/* Finds which NIC each rank has on the target of t. To be done before shares are set. */
void port_contention_place(struct port_contention *l, const struct retarget *t);

/* Tells the engine; off: nothing is shared. */
void port_contention_set(struct port_contention *l, struct program *p, bool off);

/* For a run with nothing shared in which transfers lasted as recorded: computes what each would
 * have taken without those beside it, if these took their shares. work_ns: [p->ncosts], filled
 * where a transfer uses a link and happened; the rest is left alone. */
void port_contention_undo(const struct port_contention *l, const struct program *p,
                          int64_t *work_ns);

#endif

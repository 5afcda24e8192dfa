/* SPDX-License-Identifier: MIT
 *
 * What the cost models (model/cost.h) say an operation takes on the machine of the recording, for
 * comparison with what it took: alone, on idle links, all members there at once.
 */
#ifndef SPECTER_ANALYSIS_EXPECTED_H
#define SPECTER_ANALYSIS_EXPECTED_H

#include "analysis/comm.h"
#include "analysis/node_map.h"

enum network_by { NETWORK_UNKNOWN, NETWORK_TOLD, NETWORK_USUAL };

/* The hardware of all ranks. Profiles are borrowed. */
struct machine {
    const struct gpu_profile *gpu; /* NULL: the ranks name none that specter knows, or several */
    const struct network_profile *net; /* NULL unknown */
    enum network_by by;                /* the user said it, or such GPUs usually sit in it */
    bool mixed;                        /* several kinds of GPU */
};

/* `net`, `gpu`: what the user says; NULL: what the traces tell. */
void machine_find(struct machine *m, const struct run *run, const struct gpu_profile *gpu,
                  const struct network_profile *net);

/* Time of an instance in ns; NAN where its size or layout, the machine, or a figure of the machine
 * is not known, or the instance was launched together with others. */
double expected_ns(const struct machine *m, const struct node_map *node_map, const struct run *run,
                   const struct comm_instance *in);

/* Finds the layout of an instance's members: both ends of a message, or the communicator's ranks.
 * False: not known. */
bool expected_layout(const struct node_map *node_map, const struct run *run,
                     const struct comm_instance *in, struct layout *out);

/* The median error of the model, as a share, for operations (p2p: messages) on this network; NAN
 * where too little was measured there. */
double expected_error(const struct machine *m, bool p2p);

#endif

/* SPDX-License-Identifier: MIT
 *
 * All-to-alls that are made of messages: one to each member and one from each, in a group. PyTorch
 * makes them so.
 */
#ifndef SPECTER_SIM_PROGRAM_ALLTOALL_H
#define SPECTER_SIM_PROGRAM_ALLTOALL_H

#include "trace/run.h"

/* By operation: what its rank sends in the group that it is in, over the same communicator; 0 where
 * it is no message of a group. Owned by the caller, freed with free(). */
uint64_t *alltoall_bytes(const struct rank *rank);

#endif

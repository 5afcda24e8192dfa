/* SPDX-License-Identifier: MIT
 *
 * Messages between two ranks, and what is one-sided: the part of launch.c that meets single peers.
 * `place`: of the launch; `start`: when its kernel starts; *end: when it has ended so far, and
 * then. All return false where a peer cannot come any more.
 */
#ifndef EMU_MESSAGE_H
#define EMU_MESSAGE_H

#include "launch.h"

/* All sends and receives of the launch, side by side; those between the same two in order. */
bool message_run(struct ncclComm *comm, const struct nccl_launch *launch,
                 const struct emu_place *place, uint64_t start, uint64_t *end);

bool message_one_sided(struct ncclComm *comm, const struct nccl_task *t,
                       const struct emu_place *place, uint64_t start, uint64_t *end);

#endif

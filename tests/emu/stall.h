/* SPDX-License-Identifier: MIT
 *
 * Answers lane.h's questions about other processes (struct emu_stall), which end waits that form a
 * circle: about those that this process shares a communicator with.
 */
#ifndef EMU_STALL_H
#define EMU_STALL_H

#include "comm.h"

/* From when the communicator's members may be looked at, until they may not. */
void stall_join(struct ncclComm *comm);
void stall_leave(struct ncclComm *comm);

#endif

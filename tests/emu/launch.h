/* SPDX-License-Identifier: MIT
 *
 * Shared by the parts of a communication kernel.
 */
#ifndef EMU_LAUNCH_H
#define EMU_LAUNCH_H

#include "calendar.h"
#include "comm.h"
#include "lane.h"
#include "number.h"

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t task_bytes(const struct nccl_task *t)
{
    return t->count * number_size((enum number)t->type);
}

/* Fills `view` with the use of the ports of the launch's device by others from `start` on. */
void launch_view(const struct emu_place *place, uint64_t start, struct calendar *view);

/* Chooses how a collective runs; ncclInvalidUsage where the program's settings leave nothing. */
ncclResult_t launch_choose(const struct nccl_task *t, struct run_method *choice);

/* Returns whether the communicator was aborted or revoked, which ends what runs on it. */
bool launch_ended(void *comm);

#endif

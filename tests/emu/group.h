/* SPDX-License-Identifier: MIT
 *
 * Groups of the calling thread. What is called inside one is only noted; the outermost end launches
 * it: first the communicators to be made, then one kernel for each communicator that has tasks.
 */
#ifndef EMU_GROUP_H
#define EMU_GROUP_H

#include "comm.h"
#include "job.h"

void group_start(void);
ncclResult_t group_end(struct emu_thread *self);
ncclResult_t group_simulate_end(void); /* the outermost forgets what was called */

/* At once where no group is open. `key`: of a split. Takes the job. */
ncclResult_t group_job(struct emu_job *job, struct emu_thread *self, int key);

/* Checks and takes a copy of one operation; where no group is open it is a group of its own. */
ncclResult_t group_task(struct emu_thread *self, const struct nccl_task *task);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A process that drives several GPUs (ncclCommInitAll, a thread a device, one process a node) is as
 * many ranks as it has members of communicators: its trace comes apart by device.
 */
#ifndef SPECTER_TRACE_DEVICES_H
#define SPECTER_TRACE_DEVICES_H

#include "trace/run.h"

/* Splits the rank that was added last, when it has members of one communicator on several devices,
 * into one rank for each device that a member of any of its communicators is on, by device; else
 * leaves it. Steps need no ends yet.
 *
 * Records that name a device go to its rank, those that name another one to the first. A thread
 * that works for one device marks steps of that one; a device without steps of its own has those
 * that threads of several devices or of none marked, else those of the first device that has some.
 * Marks go to the device of their thread, or to the first. */
void devices_split(struct run *run);

#endif

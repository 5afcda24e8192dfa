/* SPDX-License-Identifier: MIT
 *
 * Collectives that are matched by their order alone: a rank that left one out, or whose trace
 * begins or ends elsewhere, must not shift all that follow.
 *
 * Of each communicator the rank whose collectives most others have alike (operation, size, type) is
 * the pattern. Every other rank is laid along it: where an operation does not fit its counterpart,
 * the nearest place is looked for from which both fit again, a few of the pattern left out, or a
 * few of the rank's own skipped. A pair fits when what both know agrees, and, on a common clock,
 * both run at the same time, as members of one collective do. Where the recorder paused
 * (run->pauses) each window is laid along the pattern by itself.
 *
 * Where every rank holds others of the collectives (each sampled its own), and all are timed on one
 * clock, time decides where it makes more pairs than order: of two ranks those are the same that
 * agree and ran beside each other longest.
 */
#ifndef SPECTER_TRACE_COMM_RESYNC_H
#define SPECTER_TRACE_COMM_RESYNC_H

#include "trace/run.h"

/* For the communicators that `by_order` [run->ncomms] names, whose collectives are numbered from 0
 * in the order of the ranks' ops: sets their numbers to those of the pattern, and one of its own
 * where the pattern has none. A note says who differs and from where on. */
void order_resync(struct run *run, const bool *by_order);

#endif

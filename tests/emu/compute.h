/* SPDX-License-Identifier: MIT
 *
 * The time of computation beside communication on the same device: a communication kernel holds SMs
 * from its start to its end, also while it waits for its peers, and moves its bytes through the
 * device's memory. Computation is slowed by the communication that the launch's lane sees (lane.h).
 *
 * The library that chose a kernel's tiles did not know of it, so tiles stay what they are.
 */
#ifndef EMU_COMPUTE_H
#define EMU_COMPUTE_H

#include "core.h"

/* First: waits until it is known what runs beside. `alone` ns is what the work takes at least.
 * Returns false where nothing does, so that it takes exactly that. */
EMU_API bool emu_compute_shares(const struct emu_turn *turn, uint64_t alone);

/* ns of `tiles` that take `each` ns on an SM of their own: as many start at once as there are SMs
 * left, and the next ones when these are done. */
EMU_API double emu_compute_tiles(const struct emu_turn *turn, double tiles, double each);

/* ns of what takes `alone` ns with all of the memory's rate. */
EMU_API double emu_compute_memory(const struct emu_turn *turn, double alone);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Small integers for handles, in the order in which they are first seen: 0, 1, 2, ... Lock-free,
 * for any thread.
 *
 * A handle that the program destroys and gets back for something new keeps its number: the
 * destruction is not seen here.
 */
#ifndef SPECTER_TRACER_IDS_H
#define SPECTER_TRACER_IDS_H

#include <stdatomic.h>
#include <stdint.h>

/* A table of `slots` (a power of two, at most 65536) handles; NO_ID once it is three quarters full.
 *
 *     static struct ids streams = IDS_INIT(stream_slots);
 */
struct ids {
    _Atomic uint64_t *slots; /* handle in the low 48 bits, number + 1 above */
    uint32_t nslots;
    _Atomic uint32_t next;
};

#define IDS_INIT(_slots)                             \
    {                                                \
        _slots, sizeof(_slots) / sizeof *(_slots), 0 \
    }

/* Numbers follow the order in which handles come; one may be skipped where two threads bring
 * handles at the same moment. */

/* The number of `handle`: a pointer of user space or IDS_SPECIAL(...), not 0. */
uint32_t ids_get(struct ids *ids, uint64_t handle);

void ids_reset(struct ids *ids);

/* A handle that is no pointer: the default streams 1 and 2, each with the device or thread that it
 * belongs to. No handle looks like this: on x86-64 bit 47 is the kernel's, and on aarch64, where it
 * is not, addresses just above 0x800000000000 lie between the heap and what is mapped. */
#define IDS_SPECIAL(_kind, _owner) \
    (UINT64_C(1) << 47 | (uint64_t)(_kind) << 32 | (uint32_t)(_owner))

#endif

/* SPDX-License-Identifier: MIT
 *
 * Small integers for handles, in the order in which they are first seen: 0, 1, 2, ... A handle that
 * was destroyed and comes back for something new gets a new number. Lock-free, for any thread.
 *
 *     static struct id_slot event_slots[1024];
 *     static struct ids events = IDS_INIT(event_slots);
 *
 *     id = ids_get(&events, handle);
 *     ids_forget(&events, handle);       before the real destroy: the handle may come back at once
 *
 * Memory is the table: what a destroyed handle held is used for others. Destructions that are not
 * seen (handles that end with their context) hold their place for good.
 */
#ifndef SPECTER_TRACER_IDS_H
#define SPECTER_TRACER_IDS_H

#include <stdatomic.h>
#include <stdint.h>

struct id_slot {
    _Atomic uint64_t key;    /* handle, generation, whether it is gone; 0: never used */
    _Atomic uint64_t number; /* id and the generation that it belongs to; see ids.c */
};

struct ids {
    struct id_slot *slots; /* borrowed */
    uint32_t nslots;       /* a power of two */
    _Atomic uint32_t next;
};

#define IDS_INIT(_slots)                             \
    {                                                \
        _slots, sizeof(_slots) / sizeof *(_slots), 0 \
    }

/* The number of `handle`: a pointer of user space or IDS_SPECIAL(...), not 0. NO_ID when there is
 * no room for it. One number may be skipped, and two threads may get two, where they bring a new
 * handle at the same moment. */
uint32_t ids_get(struct ids *ids, uint64_t handle);

void ids_forget(struct ids *ids, uint64_t handle);

void ids_reset(struct ids *ids);

/* A handle that is no pointer: the default streams 1 and 2, each with the device or thread that it
 * belongs to. No handle looks like this: on x86-64 bit 47 is the kernel's, and on aarch64, where it
 * is not, addresses just above 0x800000000000 lie between the heap and what is mapped. */
#define IDS_SPECIAL(_kind, _owner) \
    (UINT64_C(1) << 47 | (uint64_t)(_kind) << 32 | (uint32_t)(_owner))

#endif

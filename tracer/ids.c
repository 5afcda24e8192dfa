/* SPDX-License-Identifier: MIT */
#include "ids.h"

#include "record.h"

#include <string.h>

#define HANDLE_BITS 48
#define HANDLE_MASK ((UINT64_C(1) << HANDLE_BITS) - 1)

static uint32_t home_of(const struct ids *ids, uint64_t handle)
{
    return (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (ids->nslots - 1);
}

/* Takes the empty slot for the handle; on a lost race *found is what the winner put there. */
static uint32_t claim(struct ids *ids, uint32_t slot, uint64_t handle, uint64_t *found)
{
    uint32_t id = atomic_fetch_add_explicit(&ids->next, 1, memory_order_relaxed);
    uint64_t entry = handle | (uint64_t)(id + 1) << HANDLE_BITS;
    *found = 0;
    if (id >= ids->nslots / 4 * 3) {
        atomic_fetch_sub_explicit(&ids->next, 1, memory_order_relaxed);
        return NO_ID;
    }
    if (atomic_compare_exchange_strong(&ids->slots[slot], found, entry))
        return id;
    return NO_ID;
}

uint32_t ids_get(struct ids *ids, uint64_t handle)
{
    uint32_t slot = home_of(ids, handle &= HANDLE_MASK);
    for (;;) {
        uint64_t entry = atomic_load_explicit(&ids->slots[slot], memory_order_relaxed);
        if (entry == 0) {
            uint32_t id = claim(ids, slot, handle, &entry);
            if (id != NO_ID || entry == 0)
                return id;
        }
        if ((entry & HANDLE_MASK) == handle)
            return (uint32_t)(entry >> HANDLE_BITS) - 1;
        slot = (slot + 1) & (ids->nslots - 1);
    }
}

void ids_reset(struct ids *ids)
{
    memset((void *)ids->slots, 0, ids->nslots * sizeof *ids->slots);
    atomic_store(&ids->next, 0);
}

/* SPDX-License-Identifier: MIT
 *
 * A hash table with linear probing over at most PROBES slots. A slot's key says whose it is:
 *
 *     0 ──first handle──> in use, generation 1 ──forget──> gone ──same or other handle──> in use, 2
 *
 * The key is changed by compare-and-swap only, with its generation, so a slot that had another
 * handle meanwhile is never taken for what it was. The number comes second: a thread that finds a
 * key in use whose number is of an older generation draws one, and the first to enter it wins.
 */
#include "ids.h"

#include "record.h"

#include <stdbool.h>
#include <string.h>

#define HANDLE_BITS 48
#define HANDLE_MASK ((UINT64_C(1) << HANDLE_BITS) - 1)
#define GENERATION_MASK UINT64_C(0x7fff)
#define GONE (UINT64_C(1) << 63)

#define PROBES 32
#define RACES 8 /* a thread that loses so often in a row goes without a number */

static uint64_t generation_of(uint64_t key)
{
    return key >> HANDLE_BITS & GENERATION_MASK;
}

static uint64_t next_key(uint64_t key, uint64_t handle)
{
    uint64_t generation = generation_of(key) % GENERATION_MASK + 1; /* never 0, as unused slots */
    return handle | generation << HANDLE_BITS;
}

static struct id_slot *slot_at(const struct ids *ids, uint64_t handle, uint32_t probe)
{
    uint32_t home = (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return &ids->slots[(home + probe) & (ids->nslots - 1)];
}

static uint32_t number_of(struct ids *ids, struct id_slot *s, uint64_t key)
{
    uint64_t generation = generation_of(key);
    uint64_t number = atomic_load_explicit(&s->number, memory_order_acquire), mine;
    for (int i = 0; i < RACES && number >> 32 != generation; i++) {
        mine = generation << 32 | atomic_fetch_add_explicit(&ids->next, 1, memory_order_relaxed);
        if (atomic_compare_exchange_strong(&s->number, &number, mine))
            return (uint32_t)mine;
    }
    return number >> 32 == generation ? (uint32_t)number : NO_ID;
}

static bool is_of(uint64_t key, uint64_t handle)
{
    return (key & (GONE | HANDLE_MASK)) == handle;
}

/* The handle's own slot, else the first that is free for it; *key: what is in it. NULL: the
 * neighbourhood is full. */
static struct id_slot *find(const struct ids *ids, uint64_t handle, uint64_t *key)
{
    struct id_slot *room = NULL;
    for (uint32_t i = 0; i < PROBES && i < ids->nslots; i++) {
        struct id_slot *s = slot_at(ids, handle, i);
        uint64_t there = atomic_load_explicit(&s->key, memory_order_acquire);
        bool own = is_of(there, handle), unused = there == 0;
        if (own || (room == NULL && (unused || (there & GONE) != 0))) {
            room = s;
            *key = there;
        }
        if (own || unused)
            break;
    }
    return room;
}

uint32_t ids_get(struct ids *ids, uint64_t handle)
{
    handle &= HANDLE_MASK;
    for (int i = 0; i < RACES; i++) {
        uint64_t key, mine;
        struct id_slot *s = find(ids, handle, &key);
        if (s == NULL)
            return NO_ID;
        if (is_of(key, handle))
            return number_of(ids, s, key);
        mine = next_key(key, handle);
        if (atomic_compare_exchange_strong(&s->key, &key, mine))
            return number_of(ids, s, mine);
    }
    return NO_ID;
}

/* All of it: two threads may each have entered the handle. */
void ids_forget(struct ids *ids, uint64_t handle)
{
    uint64_t there = handle &= HANDLE_MASK;
    for (uint32_t i = 0; i < PROBES && i < ids->nslots && there != 0; i++) {
        struct id_slot *s = slot_at(ids, handle, i);
        there = atomic_load_explicit(&s->key, memory_order_acquire);
        if (is_of(there, handle))
            atomic_compare_exchange_strong(&s->key, &there, there | GONE);
    }
}

void ids_reset(struct ids *ids)
{
    memset((void *)ids->slots, 0, ids->nslots * sizeof *ids->slots);
    atomic_store(&ids->next, 0);
}

/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include <stdbool.h>
#include <stddef.h>

#define SLOTS 4096 /* a power of two */
#define PROBES 16

/* `sequence` is odd while a thread writes; a reader that sees it odd or changed ignores the slot.
 */
static struct cached_answer {
    _Atomic uint32_t sequence;
    _Atomic uint32_t generation;
    _Atomic uint64_t key; /* 0: never used */
    _Atomic(function) real;
} slots[SLOTS];

_Atomic uint32_t answers_generation;

static uint64_t key_of(enum hook_id id, const void *place)
{
    return ((uint64_t)(uintptr_t)place & ((UINT64_C(1) << 48) - 1)) | (uint64_t)(id + 1) << 48;
}

static uint32_t first_slot(uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (SLOTS - 1);
}

function answers_get(enum hook_id id, const void *place)
{
    uint64_t key = key_of(id, place), there;
    uint32_t now = atomic_load_explicit(&answers_generation, memory_order_acquire);
    for (uint32_t i = 0, at = first_slot(key); i < PROBES; i++, at = (at + 1) & (SLOTS - 1)) {
        struct cached_answer *s = &slots[at];
        uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_acquire);
        there = atomic_load_explicit(&s->key, memory_order_acquire);
        if (there == key) {
            uint32_t generation = atomic_load_explicit(&s->generation, memory_order_acquire);
            function real = atomic_load_explicit(&s->real, memory_order_acquire);
            if ((sequence & 1) == 0 && generation == now &&
                atomic_load_explicit(&s->sequence, memory_order_relaxed) == sequence)
                return real;
        }
        if (there == 0)
            return NULL;
    }
    return NULL;
}

/* A slot that another thread is writing is left to it. */
static bool write_slot(struct cached_answer *s, uint64_t key, function real, uint32_t generation)
{
    uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_acquire);
    if ((sequence & 1) != 0 ||
        !atomic_compare_exchange_strong(&s->sequence, &sequence, sequence + 1))
        return false;
    atomic_store(&s->key, key);
    atomic_store(&s->generation, generation);
    atomic_store(&s->real, real);
    atomic_store(&s->sequence, sequence + 2);
    return true;
}

static bool is_free(struct cached_answer *s, uint64_t key)
{
    uint64_t there = atomic_load_explicit(&s->key, memory_order_acquire);
    return there == 0 || there == key ||
           atomic_load_explicit(&s->generation, memory_order_acquire) !=
               atomic_load_explicit(&answers_generation, memory_order_acquire);
}

void answers_put(enum hook_id id, const void *place, function real, uint32_t generation)
{
    uint64_t key = key_of(id, place);
    uint32_t first = first_slot(key), at = first;
    for (int i = 0; i < PROBES; i++, at = (at + 1) & (SLOTS - 1)) {
        if (is_free(&slots[at], key) && write_slot(&slots[at], key, real, generation))
            return;
    }
    write_slot(&slots[first], key, real, generation);
}

void answers_drop(void)
{
    atomic_fetch_add(&answers_generation, 1);
}

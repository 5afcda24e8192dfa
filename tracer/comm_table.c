/* SPDX-License-Identifier: MIT
 *
 * Where communicators are kept, and the lock-free table that finds one by its handle (end of
 * comm.h).
 */
#include "comm.h"

#include "tracer.h"

#include <stdbool.h>
#include <string.h>

#define BUCKETS 4096 /* a power of two */
#define CHUNK_BYTES ((size_t)16 << 10)
#define CHUNK_SLOTS ((uint32_t)(CHUNK_BYTES / sizeof(struct traced_comm)))
#define CHUNKS ((COMM_TABLE_MAX + CHUNK_SLOTS - 1) / CHUNK_SLOTS)

#define TRIES 8 /* of a look-up during which slots were removed */

static struct traced_comm *_Atomic buckets[BUCKETS];
static struct traced_comm *_Atomic chunks[CHUNKS];
static _Atomic uint32_t made;      /* slots that were ever taken */
static _Atomic uint64_t free_list; /* number + 1 of the first slot; in the high half, changes */
static _Atomic uint32_t removals;
static _Atomic bool refused; /* no chunk was to be had: none is asked for again */

/* ---- slots ---- */

struct traced_comm *comm_table_at(uint32_t number)
{
    if (number >= atomic_load_explicit(&made, memory_order_acquire))
        return NULL;
    return atomic_load_explicit(&chunks[number / CHUNK_SLOTS], memory_order_acquire) +
           number % CHUNK_SLOTS;
}

/* The next value of free_list, with another first slot. */
static uint64_t free_list_after(uint64_t was, uint32_t first)
{
    return ((was >> 32) + 1) << 32 | first;
}

static struct traced_comm *take_free(void)
{
    uint64_t was = atomic_load_explicit(&free_list, memory_order_acquire), now;
    struct traced_comm *c;
    do {
        if ((uint32_t)was == 0)
            return NULL;
        c = comm_table_at((uint32_t)was - 1);
        now = free_list_after(was, atomic_load_explicit(&c->link, memory_order_relaxed));
    } while (!atomic_compare_exchange_weak(&free_list, &was, now));
    return c;
}

void comm_table_give_back(struct traced_comm *c)
{
    uint64_t was = atomic_load_explicit(&free_list, memory_order_relaxed);
    atomic_store_explicit(&c->state, COMM_FREE, memory_order_relaxed);
    do
        atomic_store_explicit(&c->link, (uint32_t)was, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&free_list, &was, free_list_after(was, c->number + 1)));
}

/* Returns whether chunk i is there, and maps it where it is not. Two threads may do so at the same
 * time: the first one's mapping stays. */
static bool have_chunk(uint32_t i)
{
    struct traced_comm *none = NULL, *fresh;
    if (atomic_load_explicit(&chunks[i], memory_order_acquire) != NULL)
        return true;
    fresh = memory_map(CHUNK_BYTES);
    if (fresh == NULL)
        atomic_store(&refused, true);
    else if (!atomic_compare_exchange_strong(&chunks[i], &none, fresh))
        memory_unmap(fresh, CHUNK_BYTES);
    return fresh != NULL;
}

static struct traced_comm *take_new(void)
{
    uint32_t n = atomic_load(&made);
    struct traced_comm *c;
    do {
        if (n >= COMM_TABLE_MAX || atomic_load_explicit(&refused, memory_order_relaxed) ||
            !have_chunk(n / CHUNK_SLOTS))
            return NULL;
    } while (!atomic_compare_exchange_weak(&made, &n, n + 1));
    c = comm_table_at(n);
    c->number = n;
    return c;
}

struct traced_comm *comm_table_take(void)
{
    struct traced_comm *c = take_free();
    if (c == NULL)
        c = take_new();
    if (c != NULL)
        atomic_store_explicit(&c->state, COMM_FILLING, memory_order_relaxed);
    return c;
}

/* ---- lists ---- */

static uint32_t bucket_of(ncclComm_t handle)
{
    return (uint32_t)((uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) &
           (BUCKETS - 1);
}

static struct traced_comm *walk(ncclComm_t handle, uint32_t *steps)
{
    struct traced_comm *c = atomic_load_explicit(&buckets[bucket_of(handle)], memory_order_acquire);
    for (*steps = 0; c != NULL && ++*steps <= COMM_TABLE_MAX;
         c = atomic_load_explicit(&c->next, memory_order_acquire)) {
        if (atomic_load_explicit(&c->handle, memory_order_acquire) == handle)
            return c;
    }
    return NULL;
}

struct traced_comm *comm_look_up(ncclComm_t handle)
{
    uint32_t steps;
    if (handle == NULL || handle == COMM_GONE)
        return NULL;
    for (int i = 0; i < TRIES; i++) {
        uint32_t before = atomic_load_explicit(&removals, memory_order_acquire);
        struct traced_comm *c = walk(handle, &steps);
        if (c != NULL || atomic_load_explicit(&removals, memory_order_acquire) == before)
            return c;
    }
    return NULL;
}

uint32_t comm_table_steps(ncclComm_t handle)
{
    uint32_t steps;
    walk(handle, &steps);
    return steps;
}

void comm_table_enter(struct traced_comm *c, ncclComm_t handle)
{
    uint32_t bucket = bucket_of(handle);
    struct traced_comm *first;
    atomic_store_explicit(&c->link, bucket, memory_order_relaxed);
    atomic_store_explicit(&c->handle, handle, memory_order_relaxed);
    atomic_store_explicit(&c->state, COMM_LIVE, memory_order_release);
    first = atomic_load_explicit(&buckets[bucket], memory_order_relaxed);
    do
        atomic_store_explicit(&c->next, first, memory_order_release);
    while (!atomic_compare_exchange_weak(&buckets[bucket], &first, c));
}

/* Takes the slot out of its bucket. Other threads only put slots in front of the first. */
static void unlink_slot(struct traced_comm *c)
{
    struct traced_comm *after = atomic_load_explicit(&c->next, memory_order_relaxed), *before = c;
    if (atomic_compare_exchange_strong(&buckets[atomic_load(&c->link)], &before, after))
        return;
    while (atomic_load_explicit(&before->next, memory_order_acquire) != c)
        before = atomic_load_explicit(&before->next, memory_order_acquire);
    atomic_store_explicit(&before->next, after, memory_order_release);
}

void comm_table_remove(struct traced_comm *c)
{
    atomic_fetch_add(&removals, 1);
    unlink_slot(c);
    atomic_fetch_add(&removals, 1); /* for a look-up that began in between and is at the slot */
    comm_table_give_back(c);
}

void comm_table_reset(void)
{
    for (uint32_t i = 0; i < CHUNKS; i++) {
        if (atomic_load(&chunks[i]) != NULL)
            memory_unmap(atomic_load(&chunks[i]), CHUNK_BYTES);
    }
    memset((void *)chunks, 0, sizeof chunks);
    memset((void *)buckets, 0, sizeof buckets);
    atomic_store(&made, 0);
    atomic_store(&free_list, 0);
    atomic_store(&refused, false);
}

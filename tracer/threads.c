/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include "call.h"
#include "loader.h"
#include "mark.h"
#include "tracer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* in headers since Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* The first threads get large rings. The blocks come to 8.1 MiB, of MEMORY_MAX (memory.h); what is
 * left is for what threads and communicators need besides. */
static const struct {
    uint32_t slots;
    uint32_t blocks; /* with so many slots */
} ring_sizes[] = {{1 << 14, 1}, {1 << 13, 1}, {1 << 12, 3},
                  {1 << 10, 4}, {1 << 8, 8},  {1 << 6, 239}};

#define RING_SIZES (sizeof ring_sizes / sizeof *ring_sizes)
#define THREADS_MAX 256 /* all of them */

__thread unsigned thread_depth __attribute__((tls_model("initial-exec")));
__thread unsigned thread_group_depth __attribute__((tls_model("initial-exec")));
__thread struct thread *thread_own __attribute__((tls_model("initial-exec")));

/* The number of calls of this thread without a block: it asks for one at its calls 1, 2, 4, 8, and
 * so on. */
static __thread uint32_t refused __attribute__((tls_model("initial-exec")));

static struct thread *_Atomic blocks[THREADS_MAX];
static _Atomic uint32_t next_tid;
static _Atomic uint32_t blocks_made;

/* ---- whether an owner lives ---- */

/* Without robust mutexes the thread's end is not seen, and its block stays its. */
static void init_life(struct thread *t)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    if (pthread_mutex_init(&t->life, &attr) != 0)
        pthread_mutex_init(&t->life, NULL);
    pthread_mutexattr_destroy(&attr);
}

/* The mutex of a block that no living thread holds. */
static bool take_life(struct thread *t)
{
    int error = pthread_mutex_trylock(&t->life);
    if (error == EOWNERDEAD)
        pthread_mutex_consistent(&t->life);
    if (error != 0 && error != EOWNERDEAD)
        return false;
    THREAD_OWNS(t);
    return true;
}

/* Takes a block whose owner has ended out of state THREAD_OWNED; its mutex is then ours. The holder
 * of the mutex decides, which is the writer or a thread that needs a block. */
static bool take_from_dead(struct thread *t)
{
    if (atomic_load_explicit(&t->state, memory_order_acquire) != THREAD_OWNED || !take_life(t))
        return false;
    if (atomic_load_explicit(&t->state, memory_order_relaxed) == THREAD_OWNED)
        return true;
    pthread_mutex_unlock(&t->life);
    return false;
}

/* ---- blocks ---- */

/* A claimed block becomes the calling thread's. */
static struct thread *own_block(struct thread *t, enum thread_state otherwise)
{
    bool taken = take_life(t);
    atomic_store_explicit(&t->state, taken ? THREAD_OWNED : otherwise, memory_order_release);
    return taken ? t : NULL;
}

static struct thread *reuse_block(void)
{
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *t = atomic_load(&blocks[i]);
        int was = THREAD_FREE;
        if (t == NULL)
            return NULL;
        if (atomic_load_explicit(&t->state, memory_order_relaxed) == THREAD_FREE &&
            atomic_compare_exchange_strong(&t->state, &was, THREAD_CLAIMED) &&
            own_block(t, THREAD_FREE) != NULL)
            return t;
    }
    return NULL;
}

static size_t block_bytes(uint32_t slots)
{
    return sizeof(struct thread) + slots * sizeof(struct record);
}

/* Of the block made as number n; 0: there are enough. */
static uint32_t slots_of(uint32_t n)
{
    for (size_t i = 0; i < RING_SIZES; i++) {
        if (n < ring_sizes[i].blocks)
            return ring_sizes[i].slots;
        n -= ring_sizes[i].blocks;
    }
    return 0;
}

/* Enters the thread in the table, which has room while the number is below THREADS_MAX. */
static void enter_block(struct thread *t)
{
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *none = NULL;
        if (atomic_compare_exchange_strong(&blocks[i], &none, t))
            return;
    }
}

static struct thread *make_block(void)
{
    struct thread *t;
    uint32_t n = atomic_load(&blocks_made), slots;
    do {
        slots = slots_of(n);
        if (slots == 0)
            return NULL;
    } while (!atomic_compare_exchange_weak(&blocks_made, &n, n + 1));
    t = memory_map(block_bytes(slots));
    if (t == NULL) {
        atomic_fetch_sub(&blocks_made, 1);
        return NULL;
    }
    atomic_init(&t->state, THREAD_CLAIMED);
    ring_init(&t->ring, t->records, slots);
    init_life(t);
    enter_block(t);
    return own_block(t, THREAD_FREE);
}

static void push_left(struct record *r)
{
    call_publish(thread_own, ring_slot(&thread_own->ring), r);
}

static bool is_half_empty(struct ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_relaxed) -
               atomic_load_explicit(&r->tail, memory_order_acquire) <=
           r->slots / 2;
}

/* The block of a thread that has ended before the writer has come to it, with what is in its ring:
 * many threads may come and go between two of the writer's rounds. What the dead thread would have
 * left otherwise goes into the ring, as its. */
static struct thread *inherit_block(void)
{
    writer_wake();
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *t = atomic_load(&blocks[i]);
        if (t == NULL)
            break;
        if (!take_from_dead(t))
            continue;
        if (is_half_empty(&t->ring)) {
            thread_own = t;
            mark_abandon(t, push_left);
            launch_collect(t, push_left);
            return t;
        }
        pthread_mutex_unlock(&t->life); /* the next to look sees that it is free */
    }
    return NULL;
}

static struct thread *find_block(void)
{
    struct thread *t = reuse_block();
    if (t == NULL)
        t = make_block();
    if (t == NULL)
        t = inherit_block();
    if (t == NULL)
        t = reuse_block(); /* the writer may have freed them all between the two looks */
    if (t == NULL)
        return NULL;
    t->tid = (uint16_t)atomic_fetch_add(&next_tid, 1);
    comm_inits_of_group(&t->group, ncclInternalError); /* a thread that ended within a group */
    memset(&t->group, 0, offsetof(struct nccl_group, streams));
    t->group.id = NO_ID;
    launch_forget(t);
    return thread_own = t;
}

/* A signal handler that made a call in the middle would begin once more, and one that jumped out
 * would leave the C library's locks behind. */
struct thread *thread_begin(void)
{
    struct signal_block blocked;
    struct thread *t;
    uint32_t n = refused;
    if ((n & (n + 1)) != 0) {
        refused++;
        return NULL;
    }
    signal_block_begin(&blocked);
    t = thread_own != NULL ? thread_own : find_block();
    signal_block_end(&blocked);
    refused = t != NULL ? 0 : n + 1;
    return t;
}

struct thread *threads_get(uint32_t i)
{
    return i < THREADS_MAX ? atomic_load_explicit(&blocks[i], memory_order_acquire) : NULL;
}

static bool has_ended(struct thread *t)
{
    if (take_from_dead(t)) {
        atomic_store_explicit(&t->state, THREAD_ENDED, memory_order_release);
        pthread_mutex_unlock(&t->life);
    }
    return atomic_load_explicit(&t->state, memory_order_acquire) == THREAD_ENDED;
}

void threads_end(struct thread *t, void (*take)(struct record *r))
{
    int was = THREAD_ENDED;
    if (!has_ended(t) || ring_peek(&t->ring) != NULL)
        return;
    mark_abandon(t, take);
    launch_collect(t, take);
    atomic_compare_exchange_strong(&t->state, &was, THREAD_FREE);
}

/* A quarter of the ring ahead of its head, and not all at once: most threads need little. A kernel
 * that cannot do it (before 5.14) leaves it to the faults. */
void threads_back(struct thread *t)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint32_t part = t->ring.slots / 4;
    uint64_t head = atomic_load_explicit(&t->ring.head, memory_order_relaxed);
    while (t->backed < t->ring.slots && t->backed < head + part) {
        uintptr_t from = (uintptr_t)&t->records[t->backed] / page * page;
        madvise((void *)from, (uintptr_t)&t->records[t->backed + part] - from, MADV_POPULATE_WRITE);
        t->backed += part;
    }
}

uint64_t threads_dropped(void)
{
    uint64_t sum = 0;
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++)
        sum += atomic_load_explicit(&t->ring.dropped, memory_order_relaxed);
    return sum;
}

void threads_forked(void)
{
    thread_own = NULL;
    thread_depth = 0;
    refused = 0;
}

void threads_reset(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        if (atomic_load(&t->ranges) != NULL)
            memory_unmap(atomic_load(&t->ranges), sizeof(struct open_ranges));
        memory_unmap(t, block_bytes(t->ring.slots));
        atomic_store(&blocks[i], NULL);
    }
    atomic_store(&next_tid, 0);
    atomic_store(&blocks_made, 0);
}

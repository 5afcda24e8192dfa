/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include "hold.h"
#include "mark.h"
#include "memory.h"

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

/* How often this thread was without a block: it asks for one at its calls 1, 2, 4, 8, ... */
static __thread uint32_t refused __attribute__((tls_model("initial-exec")));

static struct thread *_Atomic blocks[THREADS_MAX];
static _Atomic uint32_t next_tid;
static _Atomic uint32_t blocks_made;
static pthread_key_t key;
static bool key_made; /* 0 is some library's key, too */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void thread_ended(void *block)
{
    struct thread *t = block;
    thread_own = NULL;
    atomic_store_explicit(&t->state, THREAD_ENDED, memory_order_release);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, thread_ended) == 0;
}

/* Without a key, or memory for its value, the thread's end is not seen, and its block stays its. */
static void await_end(struct thread *t)
{
    pthread_once(&key_once, make_key);
    if (key_made)
        pthread_setspecific(key, t);
}

static struct thread *reuse(void)
{
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *t = atomic_load(&blocks[i]);
        int was = THREAD_FREE;
        if (t == NULL)
            return NULL;
        if (atomic_load_explicit(&t->state, memory_order_relaxed) == THREAD_FREE &&
            atomic_compare_exchange_strong(&t->state, &was, THREAD_OWNED))
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

/* Where the table has room, which a number below THREADS_MAX says it has. */
static void enter(struct thread *t)
{
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *none = NULL;
        if (atomic_compare_exchange_strong(&blocks[i], &none, t))
            return;
    }
}

static struct thread *make(void)
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
    atomic_init(&t->state, THREAD_OWNED);
    ring_init(&t->ring, t->records, slots);
    enter(t);
    return t;
}

struct comm_birth *threads_comms(void)
{
    return memory_map(GROUP_COMMS_MAX * sizeof(struct comm_birth));
}

struct ranges *threads_ranges(void)
{
    return memory_map(sizeof(struct ranges));
}

static struct thread *begin(void)
{
    struct thread *t = reuse();
    if (t == NULL)
        t = make();
    if (t == NULL)
        return NULL;
    t->tid = (uint16_t)atomic_fetch_add(&next_tid, 1);
    memset(&t->group, 0, offsetof(struct group, comms));
    t->group.id = NO_ID;
    launch_forget(t);
    await_end(t);
    return thread_own = t;
}

/* A signal handler that made a call in the middle would begin once more, and one that jumped out
 * would leave the C library's locks behind. */
struct thread *thread_begin(void)
{
    struct hold hold;
    struct thread *t;
    uint32_t n = refused;
    if ((n & (n + 1)) != 0) {
        refused++;
        return NULL;
    }
    hold_begin(&hold);
    t = thread_own != NULL ? thread_own : begin();
    hold_end(&hold);
    refused = t != NULL ? 0 : n + 1;
    return t;
}

struct thread *threads_get(uint32_t i)
{
    return i < THREADS_MAX ? atomic_load_explicit(&blocks[i], memory_order_acquire) : NULL;
}

bool thread_has_ended(const struct thread *t)
{
    return atomic_load_explicit(&t->state, memory_order_acquire) == THREAD_ENDED;
}

bool threads_is_over(struct thread *t)
{
    return thread_has_ended(t) && ring_peek(&t->ring) == NULL;
}

void threads_release(struct thread *t)
{
    int was = THREAD_ENDED;
    if (threads_is_over(t))
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
    await_end(NULL);
}

void threads_reset(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        if (t->group.comms != NULL)
            memory_unmap(t->group.comms, GROUP_COMMS_MAX * sizeof(struct comm_birth));
        if (atomic_load(&t->ranges) != NULL)
            memory_unmap(atomic_load(&t->ranges), sizeof(struct ranges));
        memory_unmap(t, block_bytes(t->ring.slots));
        atomic_store(&blocks[i], NULL);
    }
    atomic_store(&next_tid, 0);
    atomic_store(&blocks_made, 0);
}

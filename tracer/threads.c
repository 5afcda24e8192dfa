/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS_MAX 256

/* The first three threads get large rings; all together they stay below 10 MiB, so that the tracer
 * keeps below 16 MiB whatever the program does. */
static const struct {
    size_t until; /* bytes of blocks, this one included */
    uint32_t slots;
} ring_sizes[] = {{13u << 19, 1 << 14}, {17u << 19, 1 << 12}, {10u << 20, 1 << 10}};

__thread unsigned thread_depth __attribute__((tls_model("initial-exec")));
static __thread struct thread *self __attribute__((tls_model("initial-exec")));

static struct thread *_Atomic blocks[THREADS_MAX];
static _Atomic uint32_t next_tid;
static _Atomic size_t ring_total;
static _Atomic uint64_t homeless; /* records of threads without a block */
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void thread_ended(void *block)
{
    struct thread *t = block;
    self = NULL;
    atomic_store_explicit(&t->state, THREAD_ENDED, memory_order_release);
}

static void make_key(void)
{
    pthread_key_create(&key, thread_ended);
}

static struct thread *reuse(void)
{
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *t = atomic_load(&blocks[i]);
        int was = THREAD_FREE;
        if (t == NULL)
            return NULL;
        if (atomic_compare_exchange_strong(&t->state, &was, THREAD_OWNED))
            return t;
    }
    return NULL;
}

static size_t block_bytes(uint32_t slots)
{
    return sizeof(struct thread) + slots * sizeof(struct record);
}

static uint32_t choose_slots(void)
{
    size_t total = atomic_load(&ring_total);
    for (size_t i = 0; i < sizeof ring_sizes / sizeof *ring_sizes; i++) {
        if (total + block_bytes(ring_sizes[i].slots) <= ring_sizes[i].until)
            return ring_sizes[i].slots;
    }
    return 0;
}

static struct thread *make(void)
{
    uint32_t slots = choose_slots();
    struct thread *t;
    if (slots == 0)
        return NULL;
    t = mmap(NULL, block_bytes(slots), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return NULL;
    atomic_init(&t->state, THREAD_OWNED);
    ring_init(&t->ring, t->records, slots);
    for (uint32_t i = 0; i < THREADS_MAX; i++) {
        struct thread *none = NULL;
        if (atomic_compare_exchange_strong(&blocks[i], &none, t)) {
            atomic_fetch_add(&ring_total, block_bytes(slots));
            return t;
        }
    }
    munmap(t, block_bytes(slots));
    return NULL;
}

static struct thread *begin(void)
{
    struct thread *t = reuse();
    if (t == NULL)
        t = make();
    if (t == NULL) {
        atomic_fetch_add(&homeless, 1);
        return NULL;
    }
    t->tid = (uint16_t)atomic_fetch_add(&next_tid, 1);
    memset(&t->group, 0, offsetof(struct group, streams));
    t->group.id = NO_ID;
    pthread_once(&key_once, make_key);
    pthread_setspecific(key, t);
    return self = t;
}

struct thread *thread_self(void)
{
    return self != NULL ? self : begin();
}

struct thread *threads_get(uint32_t i)
{
    return i < THREADS_MAX ? atomic_load_explicit(&blocks[i], memory_order_acquire) : NULL;
}

void threads_release(struct thread *t)
{
    int was = THREAD_ENDED;
    if (atomic_load_explicit(&t->state, memory_order_acquire) == THREAD_ENDED &&
        ring_peek(&t->ring) == NULL)
        atomic_compare_exchange_strong(&t->state, &was, THREAD_FREE);
}

uint64_t threads_dropped(void)
{
    uint64_t sum = atomic_load(&homeless);
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++)
        sum += atomic_load_explicit(&t->ring.dropped, memory_order_relaxed);
    return sum;
}

void threads_forked(void)
{
    self = NULL;
    thread_depth = 0;
    pthread_once(&key_once, make_key);
    pthread_setspecific(key, NULL);
}

void threads_reset(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        munmap(t, block_bytes(t->ring.slots));
        atomic_store(&blocks[i], NULL);
    }
    atomic_store(&next_tid, 0);
    atomic_store(&ring_total, 0);
    atomic_store(&homeless, 0);
}

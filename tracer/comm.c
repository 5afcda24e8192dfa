/* SPDX-License-Identifier: MIT */
#include "comm.h"

#include "clock.h"
#include "memory.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define COMMS_MAX 1024 /* a power of two */

/* The key of a slot that was in use: a search goes on behind it, and it may be claimed again. */
#define COMM_GONE ((ncclComm_t)(uintptr_t)1)

const struct comm_birth comm_unborn = {.rank = COMM_UNKNOWN,
                                       .size = COMM_UNKNOWN,
                                       .device = COMM_UNKNOWN,
                                       .split_seq = COMM_UNKNOWN,
                                       .color = COMM_UNKNOWN,
                                       .key = COMM_UNKNOWN,
                                       .nodes = COMM_UNKNOWN};

#define LATE_MAX 64
#define P2P_PEERS_MIN 128

static struct comm table[COMMS_MAX];
static struct late {
    _Atomic int state; /* enum comm_state, without COMM_ENDED */
    struct comm_birth birth;
} late[LATE_MAX];
static _Atomic uint32_t changes;
static uint32_t changes_seen; /* the writer's own */

uint64_t comm_hash(const void *bytes, size_t len, uint64_t seed)
{
    uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++) /* FNV-1a, ... */
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* ... mixed as splitmix64 ends */
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    h ^= h >> 31;
    return h != 0 ? h : 1;
}

uint64_t comm_hash_ranks(const int *ranks, int count)
{
    uint64_t sum = 1; /* a sum does not know the order of its parts */
    for (int i = 0; i < count; i++)
        sum += comm_hash(&ranks[i], sizeof ranks[i], 0);
    return sum != 0 ? sum : 1;
}

static size_t p2p_bytes(int64_t peers)
{
    return sizeof(struct p2p_counters) + 2 * (size_t)peers * sizeof(struct comm_counter);
}

static uint32_t home_of(ncclComm_t handle)
{
    return (uint32_t)((uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) &
           (COMMS_MAX - 1);
}

struct comm *comm_look_up(ncclComm_t handle)
{
    uint32_t slot = home_of(handle);
    if (handle == NULL || handle == COMM_GONE)
        return NULL;
    for (uint32_t i = 0; i < COMMS_MAX; i++, slot = (slot + 1) & (COMMS_MAX - 1)) {
        ncclComm_t there = atomic_load_explicit(&table[slot].handle, memory_order_acquire);
        if (there == handle)
            return &table[slot];
        if (there == NULL)
            return NULL;
    }
    return NULL;
}

static struct comm *claim(ncclComm_t handle)
{
    uint32_t slot = home_of(handle);
    for (uint32_t i = 0; i < COMMS_MAX; i++, slot = (slot + 1) & (COMMS_MAX - 1)) {
        int was = COMM_FREE;
        if (atomic_compare_exchange_strong(&table[slot].state, &was, COMM_FILLING))
            return &table[slot];
    }
    return NULL;
}

/* Pages that were never touched stay so. */
static void reset(struct comm_counter *counter)
{
    if (atomic_load_explicit(&counter->next, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&counter->next, 0, memory_order_relaxed);
    atomic_store_explicit(&counter->in_group, 0, memory_order_relaxed);
}

struct comm *comm_add(ncclComm_t handle, const struct comm_birth *birth)
{
    bool known =
        birth->rank != COMM_UNKNOWN && birth->size != COMM_UNKNOWN && birth->device != COMM_UNKNOWN;
    struct comm *c;
    comm_end(handle); /* destroyed unseen, or the handle would not have come back */
    c = claim(handle);
    if (c == NULL)
        return NULL;
    c->birth = *birth;
    c->birth.handle = NULL;
    c->time_ns = clock_host_ns();
    atomic_store(&c->known, known ? COMM_KNOWN : COMM_TO_ASK);
    reset(&c->collectives);
    reset(&c->splits);
    memset((void *)c->shrinks, 0, sizeof c->shrinks);
    atomic_store(&c->nodes, birth->nodes);
    atomic_store(&c->renewed, false);
    atomic_store(&c->captured, false);
    atomic_store_explicit(&c->handle, handle, memory_order_release);
    atomic_store_explicit(&c->state, COMM_LIVE, memory_order_release);
    atomic_fetch_add(&changes, 1);
    return c;
}

/* false: it may answer later. */
static bool ask(int64_t *what, enum hook_id getter, ncclComm_t handle, function from)
{
    ncclResult_t (*get)(ncclComm_t, int *) =
        (ncclResult_t(*)(ncclComm_t, int *))resolve_beside(getter, from);
    int value;
    if (*what != COMM_UNKNOWN || get == NULL)
        return true;
    if (get(handle, &value) != ncclSuccess)
        return false;
    *what = value;
    return true;
}

static void ask_all(struct comm *c, ncclComm_t handle, function from)
{
    int was = COMM_TO_ASK;
    bool all = true;
    if (!atomic_compare_exchange_strong(&c->known, &was, COMM_ASKING))
        return;
    all &= ask(&c->birth.size, GETTER_ncclCommCount, handle, from);
    all &= ask(&c->birth.rank, GETTER_ncclCommUserRank, handle, from);
    all &= ask(&c->birth.device, GETTER_ncclCommCuDevice, handle, from);
    atomic_store_explicit(&c->known, all ? COMM_KNOWN : COMM_TO_ASK, memory_order_release);
    atomic_fetch_add(&changes, 1);
}

void comm_add_late(const struct comm_birth *birth)
{
    for (int i = 0; i < LATE_MAX; i++) {
        int was = COMM_FREE;
        if (atomic_compare_exchange_strong(&late[i].state, &was, COMM_FILLING)) {
            late[i].birth = *birth;
            atomic_store_explicit(&late[i].state, COMM_LIVE, memory_order_release);
            return;
        }
    }
}

/* The program's variable, which may be gone by now: the kernel reads it for us and says so. */
static ncclComm_t read_handle(ncclComm_t *from)
{
    ncclComm_t handle = NULL;
    struct iovec to = {&handle, sizeof handle}, remote = {from, sizeof handle};
    ssize_t n = process_vm_readv(getpid(), &to, 1, &remote, 1, 0);
    return n == (ssize_t)sizeof handle ? handle : NULL;
}

static struct comm *add_unseen(ncclComm_t handle)
{
    for (int i = 0; i < LATE_MAX; i++) {
        int was = COMM_LIVE;
        struct comm *c;
        if (atomic_load_explicit(&late[i].state, memory_order_acquire) != COMM_LIVE ||
            read_handle(late[i].birth.handle) != handle ||
            !atomic_compare_exchange_strong(&late[i].state, &was, COMM_FILLING))
            continue;
        c = comm_add(handle, &late[i].birth);
        atomic_store(&late[i].state, COMM_FREE);
        return c;
    }
    return comm_add(handle, &comm_unborn);
}

struct comm *comm_find(ncclComm_t handle, function from)
{
    struct comm *c = comm_look_up(handle);
    if (c == NULL && handle != NULL && handle != COMM_GONE)
        c = add_unseen(handle);
    if (c != NULL && atomic_load_explicit(&c->known, memory_order_acquire) != COMM_KNOWN)
        ask_all(c, handle, from);
    return c;
}

void comm_end(ncclComm_t handle)
{
    struct comm *c = comm_look_up(handle);
    ncclComm_t was = handle;
    if (c == NULL || !atomic_compare_exchange_strong(&c->handle, &was, COMM_GONE))
        return;
    atomic_store_explicit(&c->state, COMM_ENDED, memory_order_release);
    atomic_fetch_add(&changes, 1);
}

static int64_t take(struct comm_counter *counter, uint32_t group)
{
    uint64_t taken = atomic_load_explicit(&counter->in_group, memory_order_relaxed);
    if (group != NO_ID) {
        if (taken >> 32 != (uint64_t)group + 1)
            taken = ((uint64_t)group + 1) << 32;
        atomic_store_explicit(&counter->in_group, taken + 1, memory_order_relaxed);
    }
    return atomic_fetch_add(&counter->next, 1);
}

static void give_back(struct comm_counter *counter, uint32_t group)
{
    uint64_t taken = atomic_load_explicit(&counter->in_group, memory_order_relaxed);
    if (taken >> 32 == (uint64_t)group + 1 &&
        atomic_compare_exchange_strong(&counter->in_group, &taken, 0))
        atomic_fetch_sub(&counter->next, (int64_t)(uint32_t)taken);
}

void comm_give_back(uint32_t group)
{
    for (uint32_t i = 0; group != NO_ID && i < COMMS_MAX; i++) {
        struct comm *c = &table[i];
        struct p2p_counters *p = atomic_load_explicit(&c->p2p, memory_order_acquire);
        if (atomic_load_explicit(&c->state, memory_order_acquire) != COMM_LIVE)
            continue;
        give_back(&c->collectives, group);
        give_back(&c->splits, group);
        for (int at = 0; at < COMM_SHRINKS_MAX; at++)
            give_back(&c->shrinks[at].made, group);
        for (int64_t at = 0; p != NULL && at < 2 * p->peers; at++)
            give_back(&p->count[at], group);
    }
}

int64_t comm_next_collective(struct comm *c, uint32_t group)
{
    return c->birth.id != 0 ? take(&c->collectives, group) : -1;
}

bool comm_is(const struct comm *c, ncclComm_t handle)
{
    return atomic_load_explicit(&c->handle, memory_order_relaxed) == handle;
}

/* Room for a power of two of peers, so that all that a slot outgrows is smaller than what it has.
 */
static struct p2p_counters *make_counters(int64_t peers)
{
    int64_t room = P2P_PEERS_MIN;
    struct p2p_counters *made;
    while (room < peers)
        room *= 2;
    made = memory_map(p2p_bytes(room));
    if (made != NULL)
        made->peers = room;
    return made;
}

/* Made at the first use. What is too small is left to those who may still be counting in it. */
static struct p2p_counters *counters_of(struct comm *c)
{
    struct p2p_counters *made, *there = atomic_load_explicit(&c->p2p, memory_order_acquire);
    int64_t peers = c->birth.size;
    if (there != NULL && there->peers >= peers)
        return there;
    made = make_counters(peers);
    if (made == NULL || atomic_compare_exchange_strong(&c->p2p, &there, made))
        return made;
    memory_unmap(made, p2p_bytes(made->peers));
    return there;
}

int64_t comm_next_p2p(struct comm *c, int peer, bool is_recv, uint32_t group)
{
    struct p2p_counters *p;
    if (c->birth.id == 0 || peer < 0 || peer >= c->birth.size)
        return -1;
    p = counters_of(c);
    if (p == NULL || peer >= p->peers)
        return -1;
    return take(&p->count[(is_recv ? p->peers : 0) + peer], group);
}

void comm_set_nodes(struct comm *c, int64_t nodes)
{
    if (atomic_exchange(&c->nodes, nodes) == nodes)
        return;
    atomic_store(&c->renewed, true);
    atomic_fetch_add(&changes, 1);
}

struct comm *comm_of_nccl_hash(uint64_t hash, int64_t rank)
{
    for (uint32_t i = 0; i < COMMS_MAX; i++) {
        struct comm *c = &table[i];
        if (atomic_load_explicit(&c->state, memory_order_acquire) == COMM_LIVE &&
            c->birth.nccl_hash == hash && c->birth.rank == rank && c->birth.id != 0)
            return c;
    }
    return NULL;
}

uint64_t comm_split_id(struct comm *parent, int color, uint32_t group, int64_t *split_seq)
{
    struct {
        uint64_t parent;
        int64_t seq, color;
    } from = {parent->birth.id, take(&parent->splits, group), color};
    *split_seq = from.seq;
    return from.parent != 0 ? comm_hash(&from, sizeof from, 0) : 0;
}

static struct comm_shrinks *shrinks_of(struct comm *parent, uint64_t left_out)
{
    for (int i = 0; i < COMM_SHRINKS_MAX; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&parent->shrinks[i].left_out, &there, left_out) ||
            there == left_out)
            return &parent->shrinks[i];
    }
    return NULL;
}

uint64_t comm_shrink_id(struct comm *parent, uint64_t left_out, uint32_t group, int64_t *split_seq)
{
    struct comm_shrinks *shrinks = shrinks_of(parent, left_out);
    struct {
        uint64_t parent, left_out;
        int64_t seq;
    } from = {parent->birth.id, left_out, COMM_UNKNOWN};
    if (shrinks != NULL)
        from.seq = take(&shrinks->made, group);
    *split_seq = from.seq;
    if (from.parent == 0 || shrinks == NULL)
        return 0;
    return comm_hash(&from, sizeof from, 1); /* another seed than splits have */
}

static void free_slot(struct comm *c)
{
    struct p2p_counters *p = atomic_load(&c->p2p);
    for (int64_t i = 0; p != NULL && i < 2 * p->peers; i++)
        reset(&p->count[i]);
    c->written = false;
    atomic_store_explicit(&c->state, COMM_FREE, memory_order_release);
}

void comm_visit_new(void (*write)(const struct comm *c, void *arg), void *arg)
{
    uint32_t now = atomic_load(&changes);
    if (now == changes_seen)
        return;
    changes_seen = now;
    for (uint32_t i = 0; i < COMMS_MAX; i++) {
        struct comm *c = &table[i];
        int state = atomic_load_explicit(&c->state, memory_order_acquire);
        bool known = atomic_load_explicit(&c->known, memory_order_acquire) == COMM_KNOWN;
        if (state != COMM_LIVE && state != COMM_ENDED)
            continue;
        if ((known || state == COMM_ENDED) &&
            (atomic_exchange(&c->renewed, false) || !c->written)) {
            write(c, arg);
            c->written = true;
        }
        if (state == COMM_ENDED)
            free_slot(c);
    }
}

void comm_reset(void)
{
    for (uint32_t i = 0; i < COMMS_MAX; i++) {
        struct p2p_counters *p = atomic_load(&table[i].p2p);
        if (p != NULL)
            memory_unmap(p, p2p_bytes(p->peers));
    }
    memset((void *)table, 0, sizeof table);
    memset((void *)late, 0, sizeof late);
    changes_seen = 0;
    atomic_store(&changes, 0);
}

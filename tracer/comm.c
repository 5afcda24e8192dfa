/* SPDX-License-Identifier: MIT */
#include "comm.h"

#include "clock.h"
#include "tracer.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

const struct comm_init comm_init_unknown = {.rank = COMM_UNKNOWN,
                                            .size = COMM_UNKNOWN,
                                            .device = COMM_UNKNOWN,
                                            .split_seq = COMM_UNKNOWN,
                                            .color = COMM_UNKNOWN,
                                            .key = COMM_UNKNOWN,
                                            .nodes = COMM_UNKNOWN};

#define P2P_PEERS_MIN 8
#define READ_MAX 64   /* handles of late creations that are read at once */
#define STRANGERS 256 /* a power of two */

/* Handles that there was no room for, each where its hash says, so that most calls on one do not
 * try again. */
static _Atomic(ncclComm_t) strangers[STRANGERS];
static _Atomic uint64_t without_room;
static _Atomic uint32_t late; /* creations that wait as late */
static _Atomic uint32_t changes;
static uint32_t changes_seen; /* the writer's own */

uint64_t comm_hash(const void *bytes, size_t len, uint64_t seed)
{
    uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++) /* FNV-1a, mixed as splitmix64 ends */
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
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

/* ---- memory for slots ----
 *
 * Allocates pieces of at most CARVE_MAX, much smaller than a page, many in one mapping. They are
 * freed only all at once, in the child of a fork. */

#define CARVE_MAX ((size_t)8 << 10)
#define LUMP_BYTES ((size_t)64 << 10)
#define CARVE_ALIGN 16

/* A mapping from which carve() takes its pieces, one after the other. */
struct lump {
    struct lump *before;
    _Atomic size_t used;
    _Alignas(CARVE_ALIGN) char bytes[];
};

#define LUMP_ROOM (LUMP_BYTES - sizeof(struct lump))

static struct lump *_Atomic lump; /* the one in use */

/* Where two threads find the same lump full, one of the two new ones stays. */
static bool add_lump(struct lump *full)
{
    struct lump *fresh = memory_map(LUMP_BYTES);
    if (fresh == NULL)
        return false;
    fresh->before = full;
    if (!atomic_compare_exchange_strong(&lump, &full, fresh))
        memory_unmap(fresh, LUMP_BYTES);
    return true;
}

static void *carve(size_t bytes)
{
    size_t size = (bytes + CARVE_ALIGN - 1) / CARVE_ALIGN * CARVE_ALIGN;
    if (size > CARVE_MAX)
        return NULL;
    for (;;) {
        struct lump *l = atomic_load_explicit(&lump, memory_order_acquire);
        size_t at = l != NULL ? atomic_fetch_add(&l->used, size) : LUMP_ROOM;
        if (at + size <= LUMP_ROOM)
            return l->bytes + at;
        if (!add_lump(l))
            return NULL;
    }
}

static void carve_reset(void)
{
    struct lump *l = atomic_exchange(&lump, NULL), *before;
    for (; l != NULL; l = before) {
        before = l->before;
        memory_unmap(l, LUMP_BYTES);
    }
}

/* ---- communicators ---- */

static _Atomic(ncclComm_t) *stranger_slot(ncclComm_t handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return &strangers[hash & (STRANGERS - 1)];
}

/* Pages that were never touched stay so. */
static void reset(struct comm_counter *counter)
{
    if (atomic_load_explicit(&counter->next, memory_order_relaxed) == 0)
        return;
    atomic_store_explicit(&counter->next, 0, memory_order_relaxed);
    atomic_store_explicit(&counter->in_group, 0, memory_order_relaxed);
}

/* Without memory for its name, it has none. */
static void keep_name(struct traced_comm *c, const char *name)
{
    bool named = name != NULL && name[0] != '\0';
    if (named && c->name == NULL)
        c->name = carve(COMM_NAME_MAX);
    c->init.name = named ? c->name : NULL;
    if (c->init.name == NULL)
        return;
    strncpy(c->name, name, COMM_NAME_MAX - 1);
    c->name[COMM_NAME_MAX - 1] = '\0';
}

static struct traced_comm *keep_comm(const struct comm_init *init)
{
    struct traced_comm *c = comm_table_take();
    if (c == NULL) {
        if (init->id != 0)
            atomic_fetch_add(&without_room, 1);
        return NULL;
    }
    c->init = *init;
    keep_name(c, init->name);
    return c;
}

uint64_t comm_without_room(void)
{
    return atomic_load(&without_room);
}

struct traced_comm *comm_keep(const struct comm_init *init, struct traced_comm *others)
{
    struct traced_comm *c = keep_comm(init);
    if (c == NULL)
        return others;
    atomic_store_explicit(&c->next, others, memory_order_relaxed);
    atomic_store_explicit(&c->state, COMM_WAITING, memory_order_relaxed);
    return c;
}

static struct traced_comm *add_kept(struct traced_comm *c, ncclComm_t handle)
{
    const struct comm_init *b = &c->init;
    struct comm_shrinks *shrinks = atomic_load(&c->shrinks);
    bool known = b->rank != COMM_UNKNOWN && b->size != COMM_UNKNOWN && b->device != COMM_UNKNOWN;
    comm_end(handle); /* destroyed unseen, or the handle would not have come back */
    c->init.handle = NULL;
    c->time_ns = clock_host_ns();
    atomic_store(&c->known, known ? COMM_KNOWN : COMM_TO_ASK);
    reset(&c->collectives);
    reset(&c->splits);
    if (shrinks != NULL)
        memset((void *)shrinks, 0, COMM_SHRINKS_MAX * sizeof *shrinks);
    atomic_store(&c->group, 0);
    atomic_store(&c->nodes, b->nodes);
    atomic_store(&c->renewed, false);
    atomic_store(&c->captured, false);
    comm_table_enter(c, handle);
    atomic_fetch_add(&changes, 1);
    return c;
}

struct traced_comm *comm_end_wait(struct traced_comm *kept, ncclComm_t handle, bool is_late)
{
    struct traced_comm *next = atomic_load_explicit(&kept->next, memory_order_relaxed);
    if (handle != NULL) {
        add_kept(kept, handle);
    } else if (is_late) {
        atomic_fetch_add(&late, 1);
        atomic_store_explicit(&kept->state, COMM_LATE, memory_order_release);
    } else {
        comm_table_give_back(kept);
    }
    return next;
}

struct traced_comm *comm_add(ncclComm_t handle, const struct comm_init *init)
{
    struct traced_comm *c = keep_comm(init);
    if (c != NULL)
        return add_kept(c, handle);
    comm_end(handle);
    atomic_store_explicit(stranger_slot(handle), handle, memory_order_relaxed);
    return NULL;
}

/* Returns false where NCCL refused: it is asked again at the next use. */
static bool ask_nccl(int32_t *what, enum hook_id getter, ncclComm_t handle, function from)
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

static void ask_all(struct traced_comm *c, ncclComm_t handle, function from)
{
    uint8_t was = COMM_TO_ASK;
    bool all = true;
    if (!atomic_compare_exchange_strong(&c->known, &was, COMM_ASKING))
        return;
    all &= ask_nccl(&c->init.size, GETTER_ncclCommCount, handle, from);
    all &= ask_nccl(&c->init.rank, GETTER_ncclCommUserRank, handle, from);
    all &= ask_nccl(&c->init.device, GETTER_ncclCommCuDevice, handle, from);
    atomic_store_explicit(&c->known, all ? COMM_KNOWN : COMM_TO_ASK, memory_order_release);
    atomic_fetch_add(&changes, 1);
}

/* Reads the program's handle variables by process_vm_readv(), since they may be gone by now. Stops
 * at the first that is, and returns how many it has read. Where the system refuses the call,
 * creations that are late stay without identity. */
static int read_handles(ncclComm_t *to, struct traced_comm *const *from, int count)
{
    struct iovec local = {to, (size_t)count * sizeof *to}, remote[READ_MAX];
    ssize_t bytes;
    for (int i = 0; i < count; i++)
        remote[i] = (struct iovec){from[i]->init.handle, sizeof *to};
    bytes = process_is_ours()
                ? process_vm_readv(process_id(), &local, 1, remote, (unsigned long)count, 0)
                : 0;
    return bytes > 0 ? (int)((size_t)bytes / sizeof *to) : 0;
}

/* The one of the late creations whose handle this is, taken from them; NULL: none. */
static struct traced_comm *take_late_of(struct traced_comm *const *comm_inits, int count,
                                        ncclComm_t handle)
{
    ncclComm_t handles[READ_MAX];
    for (int from = 0, n; from < count; from += n + 1) { /* + 1: the one that could not be read */
        n = read_handles(handles, comm_inits + from, count - from);
        for (int i = 0; i < n; i++) {
            uint8_t was = COMM_LATE;
            if (handles[i] == handle &&
                atomic_compare_exchange_strong(&comm_inits[from + i]->state, &was, COMM_FILLING))
                return comm_inits[from + i];
        }
    }
    return NULL;
}

static struct traced_comm *take_late(ncclComm_t handle)
{
    struct traced_comm *comm_inits[READ_MAX], *c, *found = NULL;
    int n = 0;
    if (atomic_load_explicit(&late, memory_order_relaxed) == 0)
        return NULL;
    for (uint32_t i = 0; found == NULL && (c = comm_table_at(i)) != NULL; i++) {
        if (atomic_load_explicit(&c->state, memory_order_acquire) == COMM_LATE)
            comm_inits[n++] = c;
        if (n == READ_MAX) {
            found = take_late_of(comm_inits, n, handle);
            n = 0;
        }
    }
    if (found == NULL)
        found = take_late_of(comm_inits, n, handle);
    if (found != NULL)
        atomic_fetch_sub(&late, 1);
    return found;
}

struct traced_comm *comm_find(ncclComm_t handle, function from)
{
    struct traced_comm *c = comm_look_up(handle);
    if (c == NULL && handle != NULL && handle != COMM_GONE &&
        atomic_load_explicit(stranger_slot(handle), memory_order_relaxed) != handle) {
        c = take_late(handle);
        c = c != NULL ? add_kept(c, handle) : comm_add(handle, &comm_init_unknown);
    }
    if (c != NULL && atomic_load_explicit(&c->known, memory_order_acquire) != COMM_KNOWN)
        ask_all(c, handle, from);
    return c;
}

void comm_end(ncclComm_t handle)
{
    struct traced_comm *c = comm_look_up(handle);
    ncclComm_t was = handle;
    if (c == NULL) {
        if (handle != NULL)
            atomic_compare_exchange_strong(stranger_slot(handle), &was, NULL);
        return;
    }
    if (!atomic_compare_exchange_strong(&c->handle, &was, COMM_GONE))
        return;
    atomic_store_explicit(&c->state, COMM_ENDED, memory_order_release);
    atomic_fetch_add(&changes, 1);
}

/* ---- numbers ---- */

static int64_t take_number(struct traced_comm *c, struct comm_counter *counter, uint32_t group)
{
    uint64_t taken = atomic_load_explicit(&counter->in_group, memory_order_relaxed);
    if (group != NO_ID) {
        atomic_store_explicit(&c->group, group + 1, memory_order_relaxed);
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

static void give_back_all(struct traced_comm *c, uint32_t group)
{
    struct p2p_counters *p = atomic_load_explicit(&c->p2p, memory_order_acquire);
    struct comm_shrinks *shrinks = atomic_load_explicit(&c->shrinks, memory_order_acquire);
    give_back(&c->collectives, group);
    give_back(&c->splits, group);
    for (int i = 0; shrinks != NULL && i < COMM_SHRINKS_MAX; i++)
        give_back(&shrinks[i].made, group);
    for (int64_t i = 0; p != NULL && i < 2 * p->peers; i++)
        give_back(&p->count[i], group);
}

void comm_give_back(uint32_t group)
{
    struct traced_comm *c;
    for (uint32_t i = 0; group != NO_ID && (c = comm_table_at(i)) != NULL; i++) {
        if (atomic_load_explicit(&c->group, memory_order_relaxed) == group + 1 &&
            atomic_load_explicit(&c->state, memory_order_acquire) == COMM_LIVE)
            give_back_all(c, group);
    }
}

int64_t comm_next_collective(struct traced_comm *c, uint32_t group)
{
    return c->init.id != 0 ? take_number(c, &c->collectives, group) : -1;
}

bool comm_is(const struct traced_comm *c, ncclComm_t handle)
{
    return atomic_load_explicit(&c->handle, memory_order_relaxed) == handle;
}

static size_t p2p_bytes(int64_t peers)
{
    return sizeof(struct p2p_counters) + 2 * (size_t)peers * sizeof(struct comm_counter);
}

static bool is_carved(int64_t peers)
{
    return p2p_bytes(peers) <= CARVE_MAX;
}

static void free_counters(struct p2p_counters *p)
{
    if (!is_carved(p->peers))
        memory_unmap(p, p2p_bytes(p->peers));
}

/* Room for a power of two of peers, so that all that a slot outgrows is smaller than what it has.
 */
static struct p2p_counters *make_counters(int64_t peers)
{
    int64_t room = P2P_PEERS_MIN;
    struct p2p_counters *made;
    while (room < peers)
        room *= 2;
    made = is_carved(room) ? carve(p2p_bytes(room)) : memory_map(p2p_bytes(room));
    if (made != NULL)
        made->peers = room;
    return made;
}

/* Made at the first use. What is too small is left to those who may still be counting in it. */
static struct p2p_counters *counters_of(struct traced_comm *c)
{
    struct p2p_counters *made, *there = atomic_load_explicit(&c->p2p, memory_order_acquire);
    int64_t peers = c->init.size;
    if (there != NULL && there->peers >= peers)
        return there;
    made = make_counters(peers);
    if (made == NULL || atomic_compare_exchange_strong(&c->p2p, &there, made))
        return made;
    free_counters(made);
    return there;
}

int64_t comm_next_p2p(struct traced_comm *c, int peer, bool is_recv, uint32_t group)
{
    struct p2p_counters *p;
    if (c->init.id == 0 || peer < 0 || peer >= c->init.size)
        return -1;
    p = counters_of(c);
    if (p == NULL || peer >= p->peers)
        return -1;
    return take_number(c, &p->count[(is_recv ? p->peers : 0) + peer], group);
}

/* ---- what NCCL has told ---- */

void comm_set_nodes(struct traced_comm *c, int32_t nodes)
{
    if (atomic_exchange(&c->nodes, nodes) == nodes)
        return;
    atomic_store(&c->renewed, true);
    atomic_fetch_add(&changes, 1);
}

struct traced_comm *comm_of_nccl_hash(uint64_t hash, int32_t rank)
{
    struct traced_comm *c;
    for (uint32_t i = 0; (c = comm_table_at(i)) != NULL; i++) {
        if (atomic_load_explicit(&c->state, memory_order_acquire) == COMM_LIVE &&
            c->init.nccl_hash == hash && c->init.rank == rank && c->init.id != 0)
            return c;
    }
    return NULL;
}

/* ---- identities ---- */

uint64_t comm_split_id(struct traced_comm *parent, int color, uint32_t group, int64_t *split_seq)
{
    struct {
        uint64_t parent;
        int64_t seq, color;
    } from = {parent->init.id, take_number(parent, &parent->splits, group), color};
    *split_seq = from.seq;
    return from.parent != 0 ? comm_hash(&from, sizeof from, 0) : 0;
}

/* Made at the first shrink of any communicator in the slot. */
static struct comm_shrinks *all_shrinks(struct traced_comm *parent)
{
    struct comm_shrinks *there = atomic_load_explicit(&parent->shrinks, memory_order_acquire),
                        *made;
    if (there != NULL)
        return there;
    made = carve(COMM_SHRINKS_MAX * sizeof *made);
    return made == NULL || atomic_compare_exchange_strong(&parent->shrinks, &there, made) ? made
                                                                                          : there;
}

static struct comm_shrinks *shrinks_of(struct traced_comm *parent, uint64_t left_out)
{
    struct comm_shrinks *shrinks = all_shrinks(parent);
    for (int i = 0; shrinks != NULL && i < COMM_SHRINKS_MAX; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&shrinks[i].left_out, &there, left_out) ||
            there == left_out)
            return &shrinks[i];
    }
    return NULL;
}

uint64_t comm_shrink_id(struct traced_comm *parent, uint64_t left_out, uint32_t group,
                        int64_t *split_seq)
{
    struct comm_shrinks *shrinks = shrinks_of(parent, left_out);
    struct {
        uint64_t parent, left_out;
        int64_t seq;
    } from = {parent->init.id, left_out, COMM_UNKNOWN};
    if (shrinks != NULL)
        from.seq = take_number(parent, &shrinks->made, group);
    *split_seq = from.seq;
    if (from.parent == 0 || shrinks == NULL)
        return 0;
    return comm_hash(&from, sizeof from, 1); /* another seed than splits have */
}

/* ---- for the writer ---- */

static void free_slot(struct traced_comm *c)
{
    struct p2p_counters *p = atomic_load(&c->p2p);
    for (int64_t i = 0; p != NULL && i < 2 * p->peers; i++)
        reset(&p->count[i]);
    c->written = false;
    comm_table_remove(c);
}

static void visit_comm(struct traced_comm *c, void (*write)(const struct traced_comm *c, void *arg),
                       void *arg)
{
    int state = atomic_load_explicit(&c->state, memory_order_acquire);
    bool known = atomic_load_explicit(&c->known, memory_order_acquire) == COMM_KNOWN;
    if (state != COMM_LIVE && state != COMM_ENDED)
        return;
    if ((known || state == COMM_ENDED) && (atomic_exchange(&c->renewed, false) || !c->written)) {
        write(c, arg);
        c->written = true;
    }
    if (state == COMM_ENDED)
        free_slot(c);
}

void comm_visit_new(void (*write)(const struct traced_comm *c, void *arg), void *arg)
{
    uint32_t now = atomic_load(&changes);
    struct traced_comm *c;
    if (now == changes_seen)
        return;
    changes_seen = now;
    for (uint32_t i = 0; (c = comm_table_at(i)) != NULL; i++)
        visit_comm(c, write, arg);
}

void comm_reset(void)
{
    struct traced_comm *c;
    for (uint32_t i = 0; (c = comm_table_at(i)) != NULL; i++) {
        if (atomic_load(&c->p2p) != NULL)
            free_counters(atomic_load(&c->p2p));
    }
    comm_table_reset();
    carve_reset();
    memset((void *)strangers, 0, sizeof strangers);
    atomic_store(&without_room, 0);
    atomic_store(&late, 0);
    changes_seen = 0;
    atomic_store(&changes, 0);
}

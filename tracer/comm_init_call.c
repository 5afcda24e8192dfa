/* SPDX-License-Identifier: MIT
 *
 * Calls that make and end communicators.
 */
#include "call.h"

#include "device.h"
#include "hooks/nccl_types.h"
#include "plugin.h"
#include "threads.h"
#include "tracer.h"

#include <string.h>

static _Atomic uint64_t made_at_once; /* communicators of ncclCommInitAll so far */

/* ---- before and after the real call ---- */

/* Returns whether NCCL has written the handle. `sure`: the call succeeded outside of a group, so
 * that the handle is final even where its value is the old one. */
static bool is_written(const struct comm_init *b, bool sure)
{
    return *b->handle != NULL && (sure || *b->handle != b->before);
}

void comm_inits_of_group(struct nccl_group *g, int result)
{
    bool made = result == ncclSuccess || result == ncclInProgress;
    while (g->comm_inits != NULL) {
        struct traced_comm *kept = g->comm_inits;
        ncclComm_t handle = NULL;
        if (made && is_written(&kept->init, result == ncclSuccess)) {
            kept->init.nodes = plugin_nodes(&kept->init);
            handle = *kept->init.handle;
        }
        g->comm_inits = comm_end_wait(kept, handle, result == ncclInProgress);
    }
}

/* Registers what was made: now, or at the end of the group that is to make it, or at its first use.
 */
static void comm_init_end(struct call *c)
{
    struct nccl_group *g = &c->thread->group;
    struct traced_comm *kept;
    int device = device_current();
    bool sure = c->result == ncclSuccess && thread_group_depth == 0;
    if (device >= 0)
        c->init.device = device;
    if (is_written(&c->init, sure)) {
        c->init.nodes = plugin_nodes(&c->init);
        if (comm_add(*c->init.handle, &c->init) != NULL && sure)
            comm_find(*c->init.handle, c->real);
    } else if (g->depth > 0) {
        g->comm_inits = comm_keep(&c->init, g->comm_inits);
    } else if (c->result == ncclInProgress || thread_group_depth > 0) {
        kept = comm_keep(&c->init, NULL);
        if (kept != NULL)
            comm_end_wait(kept, NULL, true);
    }
    if (!tracer.config.sync)
        device_prepare();
}

static void comm_init_all_end(struct call *c)
{
    struct {
        char host[sizeof tracer.config.host];
        int64_t pid;
        uint64_t number;
    } from;
    memset(&from, 0, sizeof from);
    memcpy(from.host, tracer.config.host, sizeof from.host);
    from.pid = tracer.config.pid;
    from.number = atomic_fetch_add(&made_at_once, 1);
    c->init.id = comm_hash(&from, sizeof from, 0);
    for (int i = 0; i < c->init.size; i++) {
        c->init.rank = i;
        c->init.device = c->devices != NULL ? c->devices[i] : i;
        comm_add(c->init.handle[i], &c->init);
    }
}

static void split_begin(struct call *c)
{
    c->member = comm_find(c->comm, c->real);
}

/* Every member counts each split of its parent, also one that leaves it out (NCCL_SPLIT_NOCOLOR).
 */
static void split_end(struct call *c)
{
    struct traced_comm *parent = c->member;
    if (parent == NULL || !comm_is(parent, c->comm))
        return;
    c->init.parent = parent->init.id;
    c->init.id = comm_split_id(parent, c->init.color, nccl_group(c), &c->init.split_seq);
    if (c->init.color != NCCL_SPLIT_NOCOLOR)
        comm_init_end(c);
}

/* The list is the program's, which may change it afterwards. A number that NCCL refuses is none
 * that may be read. */
static void shrink_begin(struct call *c)
{
    c->left_out = 0;
    c->member = comm_find(c->comm, c->real);
    if (c->member != NULL && c->nexcluded >= 0 && c->nexcluded < c->member->init.size &&
        (c->excluded != NULL || c->nexcluded == 0))
        c->left_out = comm_hash_ranks(c->excluded, c->nexcluded);
}

static void shrink_end(struct call *c)
{
    struct traced_comm *parent = c->member;
    if (parent != NULL && comm_is(parent, c->comm) && c->left_out != 0) {
        c->init.parent = parent->init.id;
        c->init.id = comm_shrink_id(parent, c->left_out, nccl_group(c), &c->init.split_seq);
    }
    comm_init_end(c);
}

/* ---- what is called ---- */

static const struct call_handlers init = {false, NULL, comm_init_end, NULL};
static const struct call_handlers init_all = {false, NULL, comm_init_all_end, NULL};
static const struct call_handlers split = {false, split_begin, split_end, NULL};
static const struct call_handlers shrink = {false, shrink_begin, shrink_end, NULL};

/* ncclConfig_t has grown from version to version: a field is there when `size` covers it. This is
 * the layout up to the name (NCCL 2.27). */
struct config_head {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share, traffic_class;
    const char *comm_name;
};

#define CONFIG_MAGIC 0xcafebeefu

static void describe_handle(struct call *c, const struct call_handlers *handlers,
                            ncclComm_t *handle, const ncclConfig_t *config)
{
    const struct config_head *head = (const void *)config;
    c->handlers = handle != NULL ? handlers : &call_unrecorded;
    c->init = comm_init_unknown;
    c->init.handle = handle;
    c->init.before = handle != NULL ? *handle : NULL;
    /* The program's string, which is there for as long as the call lasts. */
    if (head != NULL && head->magic == CONFIG_MAGIC && head->size >= sizeof *head)
        c->init.name = head->comm_name;
}

/* NCCL's own hash of a unique id (its getHash(): DJB2a). */
static uint64_t nccl_hash(const ncclUniqueId *id)
{
    uint64_t h = 5381;
    for (size_t i = 0; i < sizeof *id; i++)
        h = h * 33 ^ (uint64_t)(int64_t)((const signed char *)id)[i];
    return h;
}

/* NCCL takes at most one id a rank; another number of them is refused, and they are not looked at.
 */
void describe_comm_init(struct call *c, ncclComm_t *handle, int size, const ncclUniqueId *ids,
                        int nids, int rank, const ncclConfig_t *config)
{
    describe_handle(c, &init, handle, config);
    if (ids != NULL && nids >= 1 && nids <= size)
        c->init.id = comm_hash(ids, (size_t)nids * sizeof *ids, 0);
    if (ids != NULL && nids == 1) /* NCCL's own hash of several is not known */
        c->init.nccl_hash = nccl_hash(ids);
    c->init.size = size;
    c->init.rank = rank;
}

void describe_comm_init_all(struct call *c, ncclComm_t *handles, int count, const int *devices)
{
    describe_handle(c, &init_all, handles, NULL);
    c->init.size = count;
    c->devices = devices;
}

void describe_split(struct call *c, ncclComm_t parent, int color, int key, ncclComm_t *handle,
                    const ncclConfig_t *config)
{
    describe_handle(c, &split, handle, config);
    c->comm = parent;
    c->init.color = color;
    c->init.key = key;
}

void describe_shrink(struct call *c, ncclComm_t parent, const int *excluded, int nexcluded,
                     ncclComm_t *handle, const ncclConfig_t *config)
{
    describe_handle(c, &shrink, handle, config);
    c->comm = parent;
    c->excluded = excluded;
    c->nexcluded = nexcluded;
}

/* Members that join have no parent, and the others got no unique id, so no identity that all know
 * can be made: NCCL is asked for rank and size. */
void describe_grow(struct call *c, ncclComm_t parent, ncclComm_t *handle,
                   const ncclConfig_t *config)
{
    const struct traced_comm *from = comm_look_up(parent);
    describe_handle(c, &init, handle, config);
    if (from != NULL)
        c->init.parent = from->init.id;
}

/* Before the real call: the handle may come back at once. */
static void comm_ends(struct call *c)
{
    comm_end(c->comm);
}

void describe_destroy(struct call *c, ncclComm_t comm)
{
    static const struct call_handlers destroy = {false, comm_ends, NULL, NULL};
    c->handlers = &destroy;
    c->comm = comm;
}

void comm_init_reset(void)
{
    atomic_store(&made_at_once, 0);
}

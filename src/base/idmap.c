/* SPDX-License-Identifier: MIT */
#include "base/idmap.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 16 /* ids that differ by less are kept together: traces count them up */

/* All bits of an id reach the slot, by way of where this process happens to lie in memory: a file
 * cannot choose ids that all fall on one slot. The numbers given do not depend on it. */
static size_t hash(uint64_t id)
{
    static const char here;
    return (size_t)hash_mix(hash_mix((uintptr_t)&here, id), id >> 32);
}

static struct idmap_slot *slot_of(const struct idmap *m, int64_t id)
{
    uint64_t group = (uint64_t)id / NEAR;
    size_t i = (hash(group) * NEAR + (uint64_t)id % NEAR) & (m->nslots - 1);
    while (m->slots[i].index != 0 && m->slots[i].id != id)
        i = (i + 1) & (m->nslots - 1);
    return &m->slots[i];
}

static void grow(struct idmap *m)
{
    struct idmap bigger = {.nslots = m->nslots ? m->nslots * 2 : 64};
    bigger.slots = calloc(bigger.nslots, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        die("out of memory");
    for (size_t i = 0; i < m->nslots; i++) {
        if (m->slots[i].index != 0)
            *slot_of(&bigger, m->slots[i].id) = m->slots[i];
    }
    free(m->slots);
    m->slots = bigger.slots;
    m->nslots = bigger.nslots;
}

uint32_t idmap_add(struct idmap *m, int64_t id)
{
    struct idmap_slot *slot;
    if (m->last.index != 0 && m->last.id == id)
        return m->last.index - 1;
    if ((size_t)m->count * 4 >= m->nslots * 3)
        grow(m);
    slot = slot_of(m, id);
    if (slot->index == 0) {
        slot->id = id;
        slot->index = ++m->count;
    }
    m->last = *slot;
    return slot->index - 1;
}

uint32_t idmap_find(const struct idmap *m, int64_t id)
{
    return m->nslots == 0 ? IDMAP_NONE : slot_of(m, id)->index - 1;
}

void idmap_release(struct idmap *m)
{
    free(m->slots);
    memset(m, 0, sizeof *m);
}

int64_t *idmap_ids(const struct idmap *m)
{
    int64_t *ids = array_new((size_t)m->count + 1, sizeof *ids);
    for (size_t i = 0; i < m->nslots; i++) {
        if (m->slots[i].index != 0)
            ids[m->slots[i].index - 1] = m->slots[i].id;
    }
    return ids;
}

/* ---- names ---- */

/* The slot that holds the pair, or the free one where it belongs. */
static struct name_index_slot *name_slot_of(const struct name_index *n, const char *name,
                                            uint32_t tag)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t h = ((uint64_t)(uintptr_t)name >> 3) + (tag + UINT64_C(1)) * odd;
    h = (h ^ h >> 32) * odd;
    size_t at = (size_t)(h >> 32) & (n->nslots - 1);
    while (n->slots[at].row != 0 && (n->slots[at].name != name || n->slots[at].tag != tag))
        at = (at + 1) & (n->nslots - 1);
    return &n->slots[at];
}

static void name_index_widen(struct name_index *n)
{
    struct name_index old = *n;
    n->nslots = old.nslots > 0 ? 2 * old.nslots : 256;
    n->slots = array_new(n->nslots, sizeof *n->slots);
    for (size_t i = 0; i < old.nslots; i++) {
        if (old.slots[i].row != 0)
            *name_slot_of(n, old.slots[i].name, old.slots[i].tag) = old.slots[i];
    }
    free(old.slots);
}

uint32_t name_index_add(struct name_index *n, const char *name, uint32_t tag)
{
    struct name_index_slot *slot;
    if (2 * ((size_t)n->count + 1) > n->nslots)
        name_index_widen(n);
    slot = name_slot_of(n, name, tag);
    if (slot->row == 0)
        *slot = (struct name_index_slot){name, tag, ++n->count};
    return slot->row - 1;
}

void name_index_release(struct name_index *n)
{
    free(n->slots);
    memset(n, 0, sizeof *n);
}

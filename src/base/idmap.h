/* SPDX-License-Identifier: MIT
 *
 * Numbers from a trace (thread ids, correlation ids), and names, to small indices, in order of
 * first sight.
 *
 *     struct idmap m = {0};
 *     uint32_t thread = idmap_add(&m, tid);     equal ids give equal indices: 0, 1, 2...
 *     idmap_release(&m);
 */
#ifndef SPECTER_BASE_IDMAP_H
#define SPECTER_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap {
    struct idmap_slot {
        int64_t id;
        uint32_t index; /* plus one; 0: free */
    } * slots;          /* owned */
    size_t nslots;
    uint32_t count;
    struct idmap_slot last; /* the one found last: traces come in runs of one thread */
};

uint32_t idmap_add(struct idmap *m, int64_t id);
uint32_t idmap_find(const struct idmap *m, int64_t id); /* IDMAP_NONE when it was never added */
void idmap_release(struct idmap *m);

/* All ids by their indices; the caller frees them. */
int64_t *idmap_ids(const struct idmap *m);

/* One id of two numbers, either of which may be negative. */
static inline int64_t idmap_pair(int32_t a, int32_t b)
{
    return (int64_t)((uint64_t)(uint32_t)a << 32 | (uint32_t)b);
}

/* ---- names ----
 *
 * The same for an interned text and a number beside it. Interned, so that the pointer stands for
 * the text.
 *
 *     struct name_index n = {0};
 *     uint32_t row = name_index_add(&n, op->name, op->class);    equal pairs give equal rows
 *     name_index_release(&n); */

struct name_index {
    struct name_index_slot {
        const char *name;
        uint32_t tag;
        uint32_t row; /* plus one; 0: free */
    } * slots;        /* owned; never more than half full */
    size_t nslots;
    uint32_t count;
};

uint32_t name_index_add(struct name_index *n, const char *name, uint32_t tag);
void name_index_release(struct name_index *n);

#endif

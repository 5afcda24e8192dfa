/* SPDX-License-Identifier: MIT */
#include "trace/jsonl.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 i128;

void clock_add(struct clock_map *m, int32_t device, int64_t dev_ns, int64_t mono_ns)
{
    ARRAY_GROW(m->pairs, m->cap, m->count + 1);
    m->pairs[m->count++] = (struct clock_pair){device, dev_ns, mono_ns};
}

static int compare_pairs(const void *pa, const void *pb)
{
    const struct clock_pair *a = pa, *b = pb;
    if (a->device != b->device)
        return ORDER(a->device, b->device);
    if (a->dev_ns != b->dev_ns)
        return ORDER(a->dev_ns, b->dev_ns);
    return ORDER(a->mono_ns, b->mono_ns);
}

void clock_ready(struct clock_map *m, int64_t base_ns)
{
    size_t kept = 0;
    m->base_ns = base_ns;
    if (m->count > 0)
        qsort(m->pairs, m->count, sizeof *m->pairs, compare_pairs);
    for (size_t i = 0; i < m->count; i++) {
        const struct clock_pair *last = kept > 0 ? &m->pairs[kept - 1] : NULL;
        if (last != NULL && last->device == m->pairs[i].device &&
            (last->dev_ns == m->pairs[i].dev_ns || last->mono_ns >= m->pairs[i].mono_ns))
            continue;
        m->pairs[kept++] = m->pairs[i];
    }
    m->count = kept;
}

/* Returns whether pair i stands at or before (device, dev_ns) in the order of the pairs. */
static bool not_after(const struct clock_map *m, size_t i, int32_t device, int64_t dev_ns)
{
    const struct clock_pair *p = &m->pairs[i];
    return p->device < device || (p->device == device && p->dev_ns <= dev_ns);
}

/* Number of pairs at or before (device, dev_ns), which is also the index of the next one. */
static size_t pairs_before(struct clock_map *m, int32_t device, int64_t dev_ns)
{
    struct bisect find = {.high = m->count};
    if (m->hint > 0 && m->hint < m->count && not_after(m, m->hint - 1, device, dev_ns) &&
        !not_after(m, m->hint, device, dev_ns))
        return m->hint;
    while (bisect_next(&find))
        bisect_take(&find, not_after(m, find.mid, device, dev_ns));
    m->hint = find.low;
    return find.low;
}

int64_t clock_to_host(struct clock_map *m, int32_t device, int64_t dev_ns)
{
    size_t n = pairs_before(m, device, dev_ns);
    const struct clock_pair *a =
        n > 0 && m->pairs[n - 1].device == device ? &m->pairs[n - 1] : NULL;
    const struct clock_pair *b = n < m->count && m->pairs[n].device == device ? &m->pairs[n] : NULL;
    i128 host;
    if (dev_ns == UNKNOWN_NS)
        return UNKNOWN_NS;
    if (a == NULL && b == NULL)
        return ns_add(dev_ns, m->base_ns);
    if (a == NULL || b == NULL) {
        a = a != NULL ? a : b;
        host = (i128)a->mono_ns + dev_ns - a->dev_ns;
    } else {
        host = a->mono_ns +
               ((i128)dev_ns - a->dev_ns) * (b->mono_ns - a->mono_ns) / (b->dev_ns - a->dev_ns);
    }
    return host > -RUN_TIME_MAX && host < RUN_TIME_MAX ? (int64_t)host : UNKNOWN_NS;
}

void clock_release(struct clock_map *m)
{
    free(m->pairs);
    memset(m, 0, sizeof *m);
}

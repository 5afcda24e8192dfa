/* SPDX-License-Identifier: MIT
 *
 * The recorded operations that each captured graph holds, as ranges of ids (output.h).
 */
#include "output.h"

#include "device.h"
#include "format.h"

#include <string.h>

#define RANGES 8192
#define ID_BYTES 21 /* an id and a comma */

struct node_run {
    uint64_t first, count;
    uint32_t next; /* of the capture, or of those that are free: index + 1 */
};

static struct node_run ranges[RANGES];
static uint32_t ranges_used; /* the rest was never taken */
static uint32_t freed;       /* index + 1 */

static struct {
    uint32_t head, tail; /* index + 1 */
    uint64_t count;
} captures[DEVICE_CAPTURES];

/* Index + 1; 0: none left. */
static uint32_t take_range(void)
{
    uint32_t range = freed;
    if (range != 0)
        freed = ranges[range - 1].next;
    else if (ranges_used < RANGES)
        range = ++ranges_used;
    return range;
}

void graph_ops_add(uint32_t graph, uint64_t id)
{
    struct node_run *last;
    uint32_t range;
    if (graph >= DEVICE_CAPTURES)
        return;
    captures[graph].count++;
    last = captures[graph].tail != 0 ? &ranges[captures[graph].tail - 1] : NULL;
    if (last != NULL && last->first + last->count == id) {
        last->count++;
        return;
    }
    range = take_range();
    if (range == 0)
        return;
    ranges[range - 1] = (struct node_run){id, 1, 0};
    if (last != NULL)
        last->next = range;
    else
        captures[graph].head = range;
    captures[graph].tail = range;
}

uint64_t graph_ops_count(uint32_t graph)
{
    return graph < DEVICE_CAPTURES ? captures[graph].count : UINT64_MAX;
}

void graph_ops_list(uint32_t graph, char *text, size_t size)
{
    struct out o = {text};
    const char *last = text + size - ID_BYTES - 2;
    put_RAW(&o, "[");
    for (uint32_t at = captures[graph].head; at != 0; at = ranges[at - 1].next) {
        const struct node_run *r = &ranges[at - 1];
        for (uint64_t i = 0; i < r->count && o.p < last; i++) {
            if (o.p[-1] != '[')
                put_RAW(&o, ",");
            put_U64(&o, r->first + i);
        }
    }
    put_RAW(&o, "]");
    *o.p = '\0';
}

void graph_ops_release(uint32_t graph)
{
    if (graph >= DEVICE_CAPTURES || captures[graph].tail == 0)
        return;
    ranges[captures[graph].tail - 1].next = freed;
    freed = captures[graph].head;
    captures[graph].head = captures[graph].tail = 0;
}

void graph_ops_reset(void)
{
    memset(ranges, 0, sizeof ranges);
    memset(captures, 0, sizeof captures);
    ranges_used = freed = 0;
}

/* SPDX-License-Identifier: MIT
 *
 * What is around each launch: one pass over a process's ranges and launches, by thread and time,
 * with the ranges that are open at the moment on a stack. Each frame of it carries what holds
 * inside, so that a launch looks at the top only.
 *
 * NCCL carries a call out in the call itself, or, between ncclGroupStart and ncclGroupEnd, in the
 * outermost ncclGroupEnd.
 */
#include "trace/nsys.h"

#include "trace/kernel_names.h"

#include <stdlib.h>

#define STACK_MAX 1024 /* ranges within ranges; deeper ones are not looked at */

struct frame {
    int64_t end_ns;
    const char *caller;
    int32_t annotated, group, product;
};

struct around {
    struct nsys_process *p;
    struct frame stack[STACK_MAX + 1]; /* [0]: outside of all */
    int depth;
    uint32_t tid;
    int groups;  /* ncclGroupStart without their ncclGroupEnd */
    size_t open; /* where the calls of the outermost one begin */
};

static int compare_ranges(const void *pa, const void *pb)
{
    const struct nsys_range *a = pa, *b = pb;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* the outer one first */
}

static void enter_thread(struct around *a, uint32_t tid)
{
    if (a->tid == tid)
        return;
    a->tid = tid;
    a->depth = 0;
    a->groups = 0;
}

static void leave_ended(struct around *a, int64_t t_ns)
{
    while (a->depth > 0 && a->stack[a->depth].end_ns < t_ns)
        a->depth--;
}

/* Calls from `first` on went to the device together. */
static int32_t add_group(struct nsys_process *p, size_t first)
{
    ARRAY_GROW(p->groups.list, p->groups.cap, p->groups.count + 1);
    p->groups.list[p->groups.count] = (struct nsys_group){first, p->ordered.count - first};
    return (int32_t)p->groups.count++;
}

static void take_call(struct around *a, struct frame *frame, int32_t call)
{
    struct nsys_process *p = a->p;
    ARRAY_GROW(p->ordered.list, p->ordered.cap, p->ordered.count + 1);
    p->ordered.list[p->ordered.count++] = call;
    if (a->groups == 0)
        frame->group = add_group(p, p->ordered.count - 1);
}

static void push(struct around *a, const struct nsys_range *range)
{
    struct frame frame = a->stack[a->depth];
    frame.end_ns = range->end_ns;
    switch ((enum nsys_range_kind)range->kind) {
    case NSYS_ANNOTATION:
        frame.annotated = range->detail;
        frame.caller = range->name;
        break;
    case NSYS_FRAMEWORK:
        frame.caller = range->name;
        if (range->detail >= 0)
            frame.product = range->detail;
        break;
    case NSYS_CALL:
        take_call(a, &frame, range->detail);
        break;
    case NSYS_GROUP_BEGIN:
        if (a->groups++ == 0)
            a->open = a->p->ordered.count;
        break;
    case NSYS_GROUP_END:
        /* without its begin, which the profile may have cut off, what is in it is not known */
        if (a->groups > 0 && --a->groups == 0)
            frame.group = add_group(a->p, a->open);
        break;
    }
    if (a->depth < STACK_MAX)
        a->stack[++a->depth] = frame;
}

static void take_launch(struct around *a, struct nsys_launch *launch)
{
    const struct frame *frame;
    enter_thread(a, launch->tid);
    leave_ended(a, launch->start_ns);
    frame = &a->stack[a->depth];
    launch->annotated = frame->annotated;
    launch->group = frame->group;
    launch->product = frame->product;
    launch->caller = frame->caller;
}

static bool before(const struct nsys_launch *launch, const struct nsys_range *range)
{
    if (launch->tid != range->tid)
        return launch->tid < range->tid;
    return launch->start_ns < range->start_ns;
}

void nsys_around(struct nsys_process *p)
{
    struct around *a = array_new(1, sizeof *a);
    size_t r = 0, l = 0;
    a->p = p;
    a->tid = UINT32_MAX;
    a->stack[0] = (struct frame){INT64_MAX, "", SPECTER_COMM_OP_COUNT, -1, -1};
    if (p->ranges.count > 0)
        qsort(p->ranges.list, p->ranges.count, sizeof *p->ranges.list, compare_ranges);
    while (l < p->nbegins || r < p->ranges.count) {
        struct nsys_launch *launch = l < p->nbegins ? &p->launches.list[p->begins[l]] : NULL;
        const struct nsys_range *range = r < p->ranges.count ? &p->ranges.list[r] : NULL;
        if (range == NULL || (launch != NULL && before(launch, range))) {
            take_launch(a, launch);
            l++;
            continue;
        }
        enter_thread(a, range->tid);
        leave_ended(a, range->start_ns);
        push(a, range);
        r++;
    }
    free(a);
}

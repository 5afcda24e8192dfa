/* SPDX-License-Identifier: MIT */
#include "analysis/split.h"

#include "trace/idmap.h"

#include <string.h>

/* Beyond these a time is damage: 2^61 ns is the year 2043 as an epoch. They keep differences of
 * any two times within an int64_t. */
#define TIME_MAX_NS ((int64_t)1 << 61)

enum kind { COMPUTE, COMM, MEMORY, KINDS };

static enum kind kind_of(const struct op *op)
{
    switch ((enum op_class)op->class) {
    case OP_COLL:
    case OP_P2P:
        return COMM;
    case OP_MEMORY:
        return MEMORY;
    case OP_GEMM:
    case OP_KERNEL:
        break;
    }
    return COMPUTE;
}

bool op_device_time(const struct op *op, int64_t *start_ns, int64_t *end_ns)
{
    if (!op_timed(op))
        return false;
    if (op->start_ns < -TIME_MAX_NS || op->start_ns > TIME_MAX_NS) /* UNKNOWN_NS is one of them */
        return false;
    if (op->dur_ns < 0 || op->dur_ns > TIME_MAX_NS)
        return false;
    *start_ns = op->start_ns;
    *end_ns = op->start_ns + op->dur_ns;
    return true;
}

/* An operation without device time, by the reason. A record that claims to have one and does not
 * is damaged and counts as unknown. */
static void count_untimed(struct split *s, const struct op *op)
{
    switch ((enum specter_timing)op->timing) {
    case SPECTER_TIMING_HOST:
    case SPECTER_TIMING_CAPTURED:
    case SPECTER_TIMING_NONE:
        s->untimed_ops[op->timing]++;
        break;
    default:
        s->untimed_ops[SPECTER_TIMING_UNKNOWN]++;
        break;
    }
}

/* Sorts the rank's operations into sets and finds where they begin and end. */
static void collect(struct split *s, const struct rank *rank, struct intervals *sets)
{
    int64_t first = INT64_MAX, last = INT64_MIN, start, end;
    struct idmap devices = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (!op_device_time(op, &start, &end)) {
            count_untimed(s, op);
            continue;
        }
        s->timed_ops++;
        if (op->device >= 0) /* else not known */
            idmap_add(&devices, op->device);
        first = start < first ? start : first;
        last = end > last ? end : last;
        intervals_add(&sets[kind_of(op)], start, end);
    }
    s->span_ns = s->timed_ops > 0 ? last - first : 0;
    s->devices = (int)devices.count;
    idmap_release(&devices);
}

/* The times of three merged sets, whose span is known. */
static void measure(struct split *s, const struct intervals *sets, const struct intervals *wait)
{
    struct intervals busy, rest;
    intervals_init(&busy);
    intervals_init(&rest);
    s->compute_ns = intervals_length(&sets[COMPUTE]);
    s->comm_ns = intervals_length(&sets[COMM]);
    s->memory_ns = intervals_length(&sets[MEMORY]);
    s->overlap_ns = intervals_common(&sets[COMPUTE], &sets[COMM]);
    s->exposed_comm_ns = s->comm_ns - s->overlap_ns;
    intervals_union(&busy, &sets[COMPUTE], &sets[COMM]);
    intervals_subtract(&rest, &sets[MEMORY], &busy);
    s->exposed_memory_ns = intervals_length(&rest);
    intervals_union(&rest, &busy, &sets[MEMORY]);
    s->idle_ns = s->span_ns - intervals_length(&rest);
    if (wait != NULL) {
        s->wait_known = true;
        s->exposed_wait_ns = intervals_length(wait) - intervals_common(wait, &sets[COMPUTE]);
    }
    intervals_release(&busy);
    intervals_release(&rest);
}

void split_make(struct split *s, const struct rank *rank, const struct intervals *wait)
{
    struct intervals sets[KINDS];
    memset(s, 0, sizeof *s);
    for (int k = 0; k < KINDS; k++)
        intervals_init(&sets[k]);
    collect(s, rank, sets);
    for (int k = 0; k < KINDS; k++)
        intervals_merge(&sets[k]);
    measure(s, sets, wait);
    for (int k = 0; k < KINDS; k++)
        intervals_release(&sets[k]);
}

/* Sums over ranks stay a number even when damage makes every rank's span centuries long. */
static void add_ns(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = INT64_MAX;
}

void split_add(struct split *s, const struct split *more)
{
#define X(name) add_ns(&s->name##_ns, more->name##_ns);
    SPLIT_TIMES(X)
#undef X
    add_ns(&s->exposed_wait_ns, more->exposed_wait_ns);
    s->wait_known = s->wait_known || more->wait_known;
    s->timed_ops += more->timed_ops;
    for (int t = 0; t < SPECTER_TIMING_COUNT; t++)
        s->untimed_ops[t] += more->untimed_ops[t];
    s->devices = more->devices > s->devices ? more->devices : s->devices;
}

uint64_t split_untimed(const struct split *s)
{
    uint64_t n = 0;
    for (int t = 0; t < SPECTER_TIMING_COUNT; t++)
        n += s->untimed_ops[t];
    return n;
}

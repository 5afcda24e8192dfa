/* SPDX-License-Identifier: MIT
 *
 * Sets of times, as sorted disjoint half-open intervals [start, end). Every share of time that
 * specter prints (compute, exposed communication, idle) is a length of such a set, so nothing is
 * ever counted twice.
 *
 *     struct intervals comm, compute, exposed;
 *     intervals_init(&comm); ...
 *     intervals_add(&comm, start_ns, end_ns);           any order, overlaps allowed
 *     intervals_merge(&comm);                           from here on it is a set
 *     intervals_subtract(&exposed, &comm, &compute);
 *     exposed_ns = intervals_length(&exposed);
 *     intervals_release(&comm); ...
 *
 * All functions but add, merge, reset, init and release want merged sets; results are merged.
 */
#ifndef SPECTER_BASE_INTERVAL_H
#define SPECTER_BASE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t start, end;
};

struct intervals {
    struct interval *list; /* owned; after merge: ascending, disjoint, none empty, none adjacent */
    size_t count, cap;
};

void intervals_init(struct intervals *s);
void intervals_release(struct intervals *s);
void intervals_reset(struct intervals *s); /* empty, memory kept */

/* Adds [start, end); nothing when end <= start. */
void intervals_add(struct intervals *s, int64_t start, int64_t end);

/* Sorts and joins what overlaps or touches. Linear when the intervals came in ascending order. */
void intervals_merge(struct intervals *s);

int64_t intervals_length(const struct intervals *s);

/* Length of what is in both a and b; builds no set. */
int64_t intervals_common(const struct intervals *a, const struct intervals *b);

/* `out` is overwritten; it must be initialised, and neither a nor b. */
void intervals_union(struct intervals *out, const struct intervals *a, const struct intervals *b);
void intervals_intersect(struct intervals *out, const struct intervals *a,
                         const struct intervals *b);
void intervals_subtract(struct intervals *out, const struct intervals *a,
                        const struct intervals *b); /* a without b */

#endif

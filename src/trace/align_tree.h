/* SPDX-License-Identifier: MIT
 *
 * From the pairs of domains that have collectives in common to a mapping of every domain to the
 * first: along the path on which the errors of the pairs add up to least.
 */
#ifndef SPECTER_TRACE_ALIGN_TREE_H
#define SPECTER_TRACE_ALIGN_TREE_H

#include "trace/align_ends.h"
#include "trace/align_map.h"

/* So far off may a mapped time be at most: what is reported between ranks of several hosts are
 * starts that differ by more, and a clock that is worse is steered or stepped, not steady. */
#define ALIGN_ERROR_MAX_NS 100e3

/* No clock of a computer runs so much faster than another: a slope that is larger is none.
 * (Crystals keep 100 ppm, and Linux steers by 500 ppm at most.) */
#define ALIGN_DRIFT_MAX 1e-3
#define CRYSTAL_DRIFT 100e-6

/* Why a domain has no mapping. */
enum unaligned {
    ALIGNED,
    NOT_JOINED, /* by no collective to what is aligned */
    JOINED_BY_FEW,
    NOT_STEADY,  /* the ends lie on no line, or on that of no clock */
    NOT_CERTAIN, /* they do, but the mapping may be off by too much */
};

struct domain_map {
    enum unaligned why;
    struct clock_line line;
    double offset_err_ns, drift_err;
    double residual_ns, error_ns;
    uint64_t anchors;
};

/* maps[n]: of every domain to domain 0. The run's ranks have their own times still. */
void tree_map(struct domain_map *maps, int n, const struct ends *ends, const struct run *run);

#endif

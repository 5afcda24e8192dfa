/* SPDX-License-Identifier: MIT
 *
 * Which links differ from the others of their kind, in as few statements as say it: where all links
 * of a GPU are slow, or all that leave or reach it, it is the GPU that is named.
 */
#ifndef SPECTER_BENCH_LINK_FINDINGS_H
#define SPECTER_BENCH_LINK_FINDINGS_H

#include "bench/link_fit.h"

enum bench_link_fault {
    BENCH_LINK_SLOW,       /* the rate is below that of its kind */
    BENCH_LINK_LATE,       /* the latency is above; of a pair, since one clock tells no direction */
    BENCH_LINK_ASYMMETRIC, /* the rate is below that of the other direction alone */
};

struct bench_link_finding {
    enum bench_link_fault fault;
    int src, dst; /* -1: any. Both of a GPU with all its links: src is it, dst -1, whole is set */
    bool whole;
    bool near;
    size_t links;    /* that it stands for */
    double ratio;    /* the median of these, to the others' median or the other direction's */
    double value;    /* GB/s or us of the first of them */
    double expected; /* GB/s or us: what `ratio` is to */
};

/* Worst first: slow by ratio, then late, then asymmetric. Returns their number; *out is owned. */
size_t bench_link_findings(const struct bench_links *links, struct bench_link_finding **out);

#endif

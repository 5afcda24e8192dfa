/* SPDX-License-Identifier: MIT
 *
 * What ranks send in a benchmark, and what a collective must therefore give: small whole numbers
 * that every type holds exactly, sums included, so that a right result is right to the last bit.
 *
 *     struct bench_values v;
 *     bench_values_init(&v, SPECTER_BF16, SPECTER_REDOP_SUM, ranks, e);
 *     bench_values_fill(&v, rank, first, count, host);              of the send buffer
 *     bench_values_fill(&v, BENCH_REDUCED, first, count, host);     of a reduction
 *
 * Element j of rank r's send buffer is factors[(h(j) + r) mod period], h a hash: it differs from
 * rank to rank, so that data of a wrong rank are seen. A reduction over all ranks then depends on
 * h(j) mod period alone, of which all results are in a table.
 */
#ifndef SPECTER_BENCH_VALUES_H
#define SPECTER_BENCH_VALUES_H

#include "base/err.h"
#include "specter/trace.h"

#include <stddef.h>
#include <stdint.h>

#define BENCH_LARGEST 256  /* no value or result is larger */
#define BENCH_REDUCED (-1) /* instead of a rank: reduced over all of them */

struct bench_values {
    enum specter_dtype dtype;
    size_t size; /* bytes of an element */
    uint32_t period;
    unsigned char coded[BENCH_LARGEST + 1][8]; /* each number in the type */
    uint16_t *sent, *reduced;                  /* owned; by h(j) mod period (+ rank) */
};

/* 0, or -1 with e filled (ERR_USAGE): no such check for the type or the reduction. */
int bench_values_init(struct bench_values *v, enum specter_dtype dtype, enum specter_redop redop,
                      int ranks, struct err *e);
void bench_values_release(struct bench_values *v);

/* Elements first to first + count of what `rank` sends, or of what the reduction over all ranks
 * gives (BENCH_REDUCED). `out` holds count * v->size bytes. */
void bench_values_fill(const struct bench_values *v, int rank, uint64_t first, size_t count,
                       void *out);

#endif

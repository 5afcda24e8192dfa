/* SPDX-License-Identifier: MIT */
#include "sim/spread.h"

#include "base/err.h"
#include "trace/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ends: of each iteration, UNKNOWN_NS where it holds nothing with a time. */
static void find_ends(int64_t *ends, const struct iterations *it, size_t nops,
                      const struct timeline *when)
{
    for (uint32_t k = 0; k < it->count; k++)
        ends[k] = UNKNOWN_NS;
    for (size_t i = 0; i < nops; i++) {
        if (when->spans[i].start_ns == UNKNOWN_NS || it->of[i] == ITERATION_NONE)
            continue;
        if (when->spans[i].end_ns > ends[it->of[i]])
            ends[it->of[i]] = when->spans[i].end_ns;
    }
}

static int by_length(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

/* The value that `share` of the n sorted ones do not exceed. */
static double quantile(const double *sorted, size_t n, double share)
{
    size_t rank = (size_t)ceil(share * (double)n);
    return sorted[rank > 0 ? rank - 1 : 0];
}

static void summarise(struct iteration_spread *out, double *lengths, size_t n)
{
    double sum = 0;
    qsort(lengths, n, sizeof *lengths, by_length);
    for (size_t i = 0; i < n; i++)
        sum += lengths[i];
    *out =
        (struct iteration_spread){.count = n,
                                  .mean_ns = sum / (double)n,
                                  .median_ns = (lengths[(n - 1) / 2] + lengths[n / 2]) / 2,
                                  .min_ns = lengths[0],
                                  .max_ns = lengths[n - 1],
                                  .p5_ns = n < 20 ? lengths[0] : quantile(lengths, n, 0.05),
                                  .p95_ns = n < 20 ? lengths[n - 1] : quantile(lengths, n, 0.95)};
}

void spread_measure(struct iteration_spread *out, const struct iterations *it, size_t nops,
                    const struct timeline *when)
{
    int64_t *ends;
    double *lengths;
    uint32_t n = 0;
    memset(out, 0, sizeof *out);
    if (it->count < 2)
        return;
    ends = malloc(it->count * sizeof *ends);
    lengths = malloc(it->count * sizeof *lengths);
    if (ends == NULL || lengths == NULL)
        die("out of memory");
    find_ends(ends, it, nops, when);
    while (n + 1 < it->count && ends[n] != UNKNOWN_NS && ends[n + 1] > ends[n]) {
        lengths[n] = (double)(ends[n + 1] - ends[n]);
        n++;
    }
    if (n + 1 == it->count)
        summarise(out, lengths, n);
    free(ends);
    free(lengths);
}

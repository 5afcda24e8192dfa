/* SPDX-License-Identifier: MIT */
#include "sim/step/step_spread.h"

#include "base/arena.h"
#include "trace/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

#define SIGMAS_OF_80 1.28 /* of a normal distribution, to either side */

static double mean_off(const double *lengths, size_t n, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (lengths[i] - mean) * (lengths[i] - mean);
    return n > 1 ? SIGMAS_OF_80 * sqrt(squares / (double)(n - 1) / (double)n) : 0;
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
                                  .mean_off_ns = mean_off(lengths, n, sum / (double)n),
                                  .p5_ns = n < 20 ? lengths[0] : quantile(lengths, n, 0.05),
                                  .p95_ns = n < 20 ? lengths[n - 1] : quantile(lengths, n, 0.95)};
}

void spread_measure(struct iteration_spread *out, const struct job_steps *steps,
                    const struct step_time *time)
{
    double *lengths = array_new(steps->count, sizeof *lengths);
    size_t n = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t k = 1; k < steps->count; k++) {
        if (step_counts(steps, k) && time->ends_ns[k - 1] != UNKNOWN_NS)
            lengths[n++] = (double)(time->ends_ns[k] - time->ends_ns[k - 1]);
    }
    if (n > 0)
        summarise(out, lengths, n);
    free(lengths);
}

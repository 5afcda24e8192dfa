/* SPDX-License-Identifier: MIT
 *
 * What is said of many durations at once: their extremes, middle and spread. One definition of each
 * for the whole report, right also for one value and for two.
 *
 *     struct sample s = {0};
 *     sample_add(&s, ns);
 *     sample_measure(&s, &stats);
 *     sample_reset(&s);                    empty, memory kept
 *     sample_release(&s);
 */
#ifndef SPECTER_ANALYSIS_SAMPLE_H
#define SPECTER_ANALYSIS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct sample {
    int64_t *list; /* owned; ascending after sample_sort() or sample_measure() */
    size_t count, cap;
    int64_t *scratch; /* owned */
    size_t cap_scratch;
};

/* All NAN when there is no value. */
struct sample_stats {
    double min, max, mean;
    double median; /* of an even number the mean of the two in the middle */
    double p95;    /* nearest rank: the smallest value that 95 % of all do not exceed */
    double std;    /* of a sample, with n - 1; NAN with one value */
};

void sample_add(struct sample *s, int64_t value);
void sample_sort(struct sample *s); /* linear in the values, whatever they are */
void sample_measure(struct sample *s, struct sample_stats *out);
void sample_reset(struct sample *s);
void sample_release(struct sample *s);

/* std / mean: the coefficient of variation; NAN when the mean is not positive. */
double sample_cv(const struct sample_stats *s);

#endif

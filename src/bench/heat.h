/* SPDX-License-Identifier: MIT
 *
 * How times go with the temperature of GPUs: pairs of a temperature and of a time beside what it
 * should be at any temperature (by the models, or beside others like it), and their correlation,
 * whose slope is a share a K.
 *
 *     struct bench_heat heat;
 *     bench_heat_init(&heat, n);
 *     bench_heat_add(&heat, celsius, us / expected_us);      at most n
 *     correlation = bench_heat_end(&heat);
 */
#ifndef SPECTER_BENCH_HEAT_H
#define SPECTER_BENCH_HEAT_H

#include "bench/samples.h"

struct bench_heat {
    double *celsius, *ratio; /* owned */
    size_t n;
};

void bench_heat_init(struct bench_heat *h, size_t most);

/* A pair of which either is not known (NAN) is left out. */
void bench_heat_add(struct bench_heat *h, double celsius, double ratio);

/* Releases it, too. */
struct bench_correlation bench_heat_end(struct bench_heat *h);

#endif

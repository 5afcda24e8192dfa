/* SPDX-License-Identifier: MIT */
#include "bench/heat.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

void bench_heat_init(struct bench_heat *h, size_t most)
{
    *h = (struct bench_heat){array_new(most, sizeof *h->celsius), array_new(most, sizeof *h->ratio),
                             0};
}

void bench_heat_add(struct bench_heat *h, double celsius, double ratio)
{
    if (!isfinite(celsius) || !isfinite(ratio))
        return;
    h->celsius[h->n] = celsius;
    h->ratio[h->n++] = ratio;
}

struct bench_correlation bench_heat_end(struct bench_heat *h)
{
    const struct bench_correlation c = bench_correlate(h->celsius, h->ratio, h->n);
    free(h->celsius);
    free(h->ratio);
    *h = (struct bench_heat){0};
    return c;
}

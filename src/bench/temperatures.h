/* SPDX-License-Identifier: MIT
 *
 * A temperatures.csv read back: what GPUs were like over the time of a benchmark. Those of other
 * programs are read, too, if their header names elapsed_s, gpu_id and temperature.
 */
#ifndef SPECTER_BENCH_TEMPERATURES_H
#define SPECTER_BENCH_TEMPERATURES_H

#include "bench/state.h"

#include <stddef.h>

struct err;

struct bench_temperatures {
    struct bench_sample *list; /* owned; as in the file; MHz: clock_sm, else clock_graphics */
    size_t n, cap;
    size_t bad; /* rows that could not be read */
};

/* 0, or -1 with e filled (ERR_INPUT): no such file, or no such columns. */
int bench_temperatures_read(struct bench_temperatures *t, const char *path, struct err *e);

/* Sums up each GPU, at most BENCH_WATCH_GPUS, in the order of the file. Returns how many. */
int bench_temperatures_sum_up(const struct bench_temperatures *t, int node,
                              struct bench_gpu_summary *out);
void bench_temperatures_release(struct bench_temperatures *t);

#endif

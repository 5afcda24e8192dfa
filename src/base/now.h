/* SPDX-License-Identifier: MIT
 *
 * The machine's own clock, which never jumps (CLOCK_MONOTONIC): for durations and time-outs.
 */
#ifndef SPECTER_BASE_NOW_H
#define SPECTER_BASE_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double now_s(void)
{
    return (double)now_ns() / 1e9;
}

#endif

/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static uint64_t (*_Atomic virtual_now)(void);

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_host_ns(void)
{
    uint64_t (*now)(void) = atomic_load_explicit(&virtual_now, memory_order_relaxed);
    return now != NULL ? (int64_t)now() : read_clock(CLOCK_MONOTONIC);
}

int64_t clock_pace_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_real_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

bool clock_is_real(void)
{
    int64_t before = clock_pace_ns(), now = clock_host_ns();
    return now >= before && now <= clock_pace_ns();
}

void clock_use(uint64_t (*now)(void))
{
    atomic_store(&virtual_now, now);
}

bool clock_is_virtual(void)
{
    return atomic_load_explicit(&virtual_now, memory_order_relaxed) != NULL;
}

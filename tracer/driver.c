/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include "clock.h"
#include "hip.h"
#include "pending.h"
#include "real_dlsym.h"
#include "resolve.h"
#include "signal_block.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct driver driver;

enum { DRIVER_ABSENT, DRIVER_SEARCHING, DRIVER_FOUND };

static _Atomic int state;

/* The number of times this thread asked in vain. Every hook asks, so a counter shared by threads
 * would be the one thing that they wait for each other at. */
static __thread uint32_t asked __attribute__((tls_model("initial-exec")));

static _Atomic bool is_hip;

bool driver_find(void *library, const char *symbol, void *slot)
{
    void *found = real_dlsym(library, symbol);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static bool find(void *library, const char *symbol, const char *other, void *slot)
{
    return driver_find(library, symbol, slot) || driver_find(library, other, slot);
}

static bool bind(void *library)
{
    uint64_t (*virtual_clock)(void);
    bool all = true;
#define X(_name, _params, _symbol, _other) all &= find(library, _symbol, _other, &driver._name);
    DRIVER_FUNCTIONS(X)
#undef X
#define X(_name, _params, _symbol) find(library, _symbol, _symbol, &driver._name);
    DRIVER_EXTRAS(X)
#undef X
    if (all && find(library, "emuHostClockNs", "emuHostClockNs", &virtual_clock))
        clock_use(virtual_clock);
    return all;
}

static bool find_hip(void)
{
    void *library = resolve_library("libamdhip64");
    atomic_store(&is_hip, library != NULL && hip_bind(&driver, library));
    return atomic_load(&is_hip);
}

static void find_driver(void)
{
    int was = DRIVER_ABSENT;
    struct signal_block blocked;
    void *library;
    if (!atomic_compare_exchange_strong(&state, &was, DRIVER_SEARCHING))
        return;
    signal_block_begin(&blocked);
    pending_begin();
    library = resolve_library("libcuda");
    atomic_store(&state,
                 (library != NULL ? bind(library) : find_hip()) ? DRIVER_FOUND : DRIVER_ABSENT);
    pending_end();
    signal_block_end(&blocked);
}

bool driver_ready(void)
{
    uint32_t n;
    if (atomic_load_explicit(&state, memory_order_acquire) == DRIVER_FOUND)
        return true;
    n = asked++;
    if ((n & (n + 1)) == 0)
        find_driver();
    return atomic_load_explicit(&state, memory_order_acquire) == DRIVER_FOUND;
}

void driver_reset(void)
{
    int was = DRIVER_SEARCHING;
    atomic_compare_exchange_strong(&state, &was, DRIVER_ABSENT);
    asked = 0;
}

bool driver_is_hip(void)
{
    return atomic_load(&is_hip);
}

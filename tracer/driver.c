/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include "clock.h"
#include "resolve.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct driver driver;

enum { NOT_FOUND, LOOKING, FOUND };

static _Atomic int state;
static _Atomic uint32_t asked;

static bool find(void *library, const char *symbol, const char *other, void *slot)
{
    void *found = dlsym(library, symbol);
    if (found == NULL)
        found = dlsym(library, other);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
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

static void look(void)
{
    int was = NOT_FOUND;
    void *library;
    if (!atomic_compare_exchange_strong(&state, &was, LOOKING))
        return;
    library = resolve_library("libcuda");
    atomic_store(&state, library != NULL && bind(library) ? FOUND : NOT_FOUND);
    dlerror(); /* what an optional function left there is not for the program to find */
}

bool driver_ready(void)
{
    uint32_t n;
    if (atomic_load_explicit(&state, memory_order_acquire) == FOUND)
        return true;
    n = atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
    if ((n & (n + 1)) == 0)
        look();
    return atomic_load_explicit(&state, memory_order_acquire) == FOUND;
}

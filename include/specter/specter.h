/* SPDX-License-Identifier: MIT
 *
 * Marks for programs: says in the trace where a training step begins, and what the program is
 * doing.
 *
 *     #include <specter/specter.h>
 *
 *     for (int step = 0; step < steps; step++) {
 *         specter_iteration("step");          a step begins; the next one, or the end, ends it
 *         specter_range_push("forward");
 *         forward();
 *         specter_range_pop();
 *         specter_mark("loss is known");      a moment
 *     }
 *
 * Nothing is linked: each function is looked up in the process at its first use, and does nothing
 * where libspecter.so was not preloaded. C11 and C++11, gcc and clang; with a glibc older than 2.34
 * the program needs -ldl.
 *
 * Names are copied at once, their first 63 bytes. Ranges nest in their thread, 32 deep; what is
 * deeper is counted as dropped. All functions may be called from any thread and keep errno. After
 * its first use, which looks it up, a function takes no lock and allocates nothing. docs/markers.md
 * says what becomes of them.
 */
#ifndef SPECTER_SPECTER_H
#define SPECTER_SPECTER_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function of that name in this process; NULL without a tracer. *cache keeps it, or its own
 * address where there is none. A handle of NULL is RTLD_DEFAULT, which some headers show only under
 * _GNU_SOURCE. */
static inline void *specter_find_(void **cache, const char *function)
{
    void *found = __atomic_load_n(cache, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(NULL, function);
        if (found == NULL) {
            found = cache;
            (void)dlerror(); /* the program's next dlerror() is not to find ours */
        }
        __atomic_store_n(cache, found, __ATOMIC_RELAXED);
    }
    return found != cache ? found : NULL;
}

/* Calls a function that takes a name. */
static inline void specter_call_(void **cache, const char *function, const char *name)
{
    void *address = specter_find_(cache, function);
    void (*real)(const char *);
    if (address == NULL)
        return;
    memcpy(&real, &address, sizeof real);
    real(name);
}

/* A moment. */
static inline void specter_mark(const char *name)
{
    static void *cache;
    specter_call_(&cache, "specter_mark", name);
}

/* A training step begins here. NULL: it has no name. */
static inline void specter_iteration(const char *name)
{
    static void *cache;
    specter_call_(&cache, "specter_iteration", name);
}

static inline void specter_range_push(const char *name)
{
    static void *cache;
    specter_call_(&cache, "specter_range_push", name);
}

/* Ends the range that the calling thread pushed last. */
static inline void specter_range_pop(void)
{
    static void *cache;
    void *address = specter_find_(&cache, "specter_range_pop");
    void (*real)(void);
    if (address == NULL)
        return;
    memcpy(&real, &address, sizeof real);
    real();
}

#ifdef __cplusplus
}
#endif

#endif

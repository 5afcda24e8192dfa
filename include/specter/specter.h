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

typedef void (*specter_name_function_)(const char *);

static inline void specter_ignore_(const char *name)
{
    (void)name;
}

/* The function of that name in this process, kept in *cache; one that does nothing without a
 * tracer. A handle of NULL is RTLD_DEFAULT, which some headers show only under _GNU_SOURCE. */
static inline specter_name_function_ specter_find_(specter_name_function_ *cache,
                                                   const char *function)
{
    specter_name_function_ found = __atomic_load_n(cache, __ATOMIC_RELAXED);
    if (found == NULL) {
        void *address = dlsym(NULL, function);
        found = specter_ignore_;
        if (address != NULL)
            memcpy(&found, &address, sizeof found);
        else
            (void)dlerror(); /* the program's next dlerror() is not to find ours */
        __atomic_store_n(cache, found, __ATOMIC_RELAXED);
    }
    return found;
}

/* A moment. */
static inline void specter_mark(const char *name)
{
    static specter_name_function_ real;
    specter_find_(&real, "specter_mark")(name);
}

/* A training step begins here. NULL: it has no name. */
static inline void specter_iteration(const char *name)
{
    static specter_name_function_ real;
    specter_find_(&real, "specter_iteration")(name);
}

static inline void specter_range_push(const char *name)
{
    static specter_name_function_ real;
    specter_find_(&real, "specter_range_push")(name);
}

/* Ends the range that the calling thread pushed last. */
static inline void specter_range_pop(void)
{
    static specter_name_function_ real;
    specter_find_(&real, "specter_range_pop")(NULL);
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#include "loader.h"

#include "clock.h"
#include "objects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- beside fork() ---- */

static _Atomic uint32_t threads_inside; /* threads between loader_enter() and loader_leave() */
static _Atomic uint32_t forking;        /* threads in fork() */

/* The number of loader questions that this thread is inside of. */
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

void loader_enter(void)
{
    int64_t begun;
    if (depth++ > 0)
        return;
    atomic_fetch_add(&threads_inside, 1);
    if (atomic_load(&forking) == 0)
        return;
    begun = clock_pace_ns();
    while (atomic_load(&forking) > 0 && clock_pace_ns() - begun < FORK_PATIENCE_NS) {
        atomic_fetch_sub(&threads_inside, 1);
        sched_yield(); /* no cancellation point, as a sleep would be */
        atomic_fetch_add(&threads_inside, 1);
    }
}

void loader_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&threads_inside, 1);
}

int loader_objects(int (*take)(struct dl_phdr_info *, size_t, void *), void *arg)
{
    int result;
    loader_enter();
    result = dl_iterate_phdr(take, arg);
    loader_leave();
    return result;
}

/* Waits for the other threads' questions. A thread that was ended within a question never leaves
 * it, so the wait is limited. */
static void before_fork(void)
{
    int64_t begun = clock_pace_ns();
    atomic_fetch_add(&forking, 1);
    while (atomic_load(&threads_inside) > (depth > 0) && clock_pace_ns() - begun < FORK_PATIENCE_NS)
        sched_yield();
}

static void after_fork(void)
{
    atomic_fetch_sub(&forking, 1);
}

/* Only the thread that forked is there. */
static void in_child(void)
{
    atomic_store(&forking, 0);
    atomic_store(&threads_inside, depth > 0);
}

void loader_lock_begin(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- libc's functions ---- */

#define ABSENT 1

/* Addresses of functions, so that each is one atomic; 0: not looked for yet, ABSENT: there is none.
 * A function that exists does so from the start of the process, so two threads that look at the
 * same time find the same one. */
static struct {
    _Atomic uintptr_t dlsym, dlvsym;
} of_libc;
static struct {
    _Atomic uintptr_t dlsym, dlvsym, dlclose, dlerror;
} next; /* the first after this library */
static _Atomic uintptr_t find_object_of_glibc;

static const struct link_map *ask_dladdr(const void *address)
{
    struct link_map *map = NULL;
    Dl_info info;
    int found;
    loader_enter();
    found = dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP);
    loader_leave();
    return found != 0 ? map : NULL;
}

const struct link_map *own_object(void)
{
    static const char here;
    static const struct link_map *_Atomic own;
    const struct link_map *object = atomic_load_explicit(&own, memory_order_relaxed);
    if (object == NULL) {
        object = ask_dladdr(&here);
        atomic_store_explicit(&own, object, memory_order_relaxed);
    }
    return object;
}

static bool is_libc(const struct link_map *object)
{
    return elf_has_entry(object, DT_SONAME, "libc.so.6") ||
           elf_has_entry(object, DT_SONAME, "libdl.so.2");
}

/* Returns the address of the first function of that name after this library, with only_libc of that
 * of libc; 0: there is none. Objects that were there at the start come first and never move, and
 * libc is one of them, so the walk meets none that another thread is just loading. */
static uintptr_t find(const char *name, bool only_libc)
{
    const struct link_map *object = own_object();
    while (object != NULL && (object = object->l_next) != NULL) {
        void *found = !only_libc || is_libc(object) ? elf_function(object, name) : NULL;
        if (found != NULL)
            return (uintptr_t)found;
        if (elf_is_loader(object)) /* the last of those */
            break;
    }
    return 0;
}

/* The same, looked for once: *where keeps the address. */
static uintptr_t known(_Atomic uintptr_t *where, const char *name, bool only_libc)
{
    uintptr_t found = atomic_load_explicit(where, memory_order_relaxed);
    if (found == 0) {
        found = find(name, only_libc);
        atomic_store_explicit(where, found != 0 ? found : ABSENT, memory_order_relaxed);
    }
    return found != ABSENT ? found : 0;
}

/* struct dl_find_object of glibc 2.35, whose header may be older than the C library. */
struct found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *map;
    void *rest[8];
};

/* Asks _dl_find_object(), because it takes no lock of the loader's: a thread that waits for this
 * one may hold that lock, as dlclose() does while destructors run. A C library without it is asked
 * by dladdr1(), which takes the lock. */
const struct link_map *object_of(const void *address)
{
    int (*find_object)(void *, struct found_object *) =
        (int (*)(void *, struct found_object *))known(&find_object_of_glibc, "_dl_find_object",
                                                      false);
    struct found_object found;
    if (find_object == NULL)
        return ask_dladdr(address);
    return find_object((void *)(uintptr_t)address, &found) == 0 ? found.map : NULL;
}

static struct dl_functions functions_at(uintptr_t sym, uintptr_t vsym)
{
    return (struct dl_functions){(void *(*)(void *, const char *))sym,
                                 (void *(*)(void *, const char *, const char *))vsym};
}

struct dl_functions libc_dlsyms(void)
{
#ifdef __GLIBC__
    return functions_at(known(&of_libc.dlsym, "dlsym", true),
                        known(&of_libc.dlvsym, "dlvsym", true));
#else
    return (struct dl_functions){dlsym, NULL}; /* where ours is not in the way */
#endif
}

struct dl_functions next_dlsyms(void)
{
    return functions_at(known(&next.dlsym, "dlsym", false), known(&next.dlvsym, "dlvsym", false));
}

int (*next_dlclose(void))(void *)
{
    return (int (*)(void *))known(&next.dlclose, "dlclose", false);
}

char *(*next_dlerror(void))(void)
{
    return (char *(*)(void))known(&next.dlerror, "dlerror", false);
}

void *real_dlsym(void *handle, const char *name)
{
    struct dl_functions libc = libc_dlsyms();
    void *found;
    loader_enter();
    found = libc.sym != NULL ? libc.sym(handle, name) : NULL;
    loader_leave();
    return found;
}

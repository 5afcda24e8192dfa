/* SPDX-License-Identifier: MIT */
#include "real.h"

#include "elf.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As addresses, so that each is one atomic; 0: not looked for yet. What is there is there from the
 * start of the process, so two threads that look at once find the same. */
static struct {
    _Atomic uintptr_t sym, vsym;
} real, next;

const struct link_map *object_of(const void *address)
{
    struct link_map *map = NULL;
    Dl_info info;
    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

const struct link_map *own_object(void)
{
    static const char here;
    static const struct link_map *_Atomic own;
    const struct link_map *object = atomic_load_explicit(&own, memory_order_relaxed);
    if (object == NULL) {
        object = object_of(&here);
        atomic_store_explicit(&own, object, memory_order_relaxed);
    }
    return object;
}

static bool is_libc(const struct link_map *object)
{
    return elf_has_entry(object, DT_SONAME, "libc.so.6") ||
           elf_has_entry(object, DT_SONAME, "libdl.so.2");
}

/* Objects that were there at the start come first and never move, and libc is one of them, so the
 * walk meets none that another thread is just loading. */
static uintptr_t find(const char *name, bool only_libc)
{
    const struct link_map *object = own_object();
    while (object != NULL && (object = object->l_next) != NULL) {
        void *found = !only_libc || is_libc(object) ? elf_function(object, name) : NULL;
        if (found != NULL)
            return (uintptr_t)found;
    }
    return 0;
}

static uintptr_t known(_Atomic uintptr_t *where, const char *name, bool only_libc)
{
    uintptr_t found = atomic_load_explicit(where, memory_order_relaxed);
    if (found == 0) {
        found = find(name, only_libc);
        atomic_store_explicit(where, found, memory_order_relaxed);
    }
    return found;
}

static struct loader loader_of(uintptr_t sym, uintptr_t vsym)
{
    return (struct loader){(void *(*)(void *, const char *))sym,
                           (void *(*)(void *, const char *, const char *))vsym};
}

struct loader real_loader(void)
{
#ifdef __GLIBC__
    return loader_of(known(&real.sym, "dlsym", true), known(&real.vsym, "dlvsym", true));
#else
    return (struct loader){dlsym, NULL}; /* where ours is not in the way */
#endif
}

struct loader next_loader(void)
{
    return loader_of(known(&next.sym, "dlsym", false), known(&next.vsym, "dlvsym", false));
}

void *real_dlsym(void *handle, const char *name)
{
    struct loader loader = real_loader();
    return loader.sym != NULL ? loader.sym(handle, name) : NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * Shared by the objects of the loading tests (loader.c tells their purpose).
 */
#ifndef LOADING_H
#define LOADING_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

/* ncclUniqueId, which is passed by value. */
struct id {
    char internal[128];
};

/* The struct that an object with a caller.c exports as entry_<name>. All but path() name functions
 * of functions.def; an object that was compiled without that group answers -1 or NULL. */
struct entry {
    const char *(*path)(void);
    int (*call)(const char *function);                        /* by its linked reference */
    void *(*address)(const char *function);                   /* of its linked reference */
    int (*call_pointer)(const char *function, void *pointer); /* by a pointer from any object */
    void *(*look)(void *handle, const char *function, const char *version); /* dlsym, dlvsym */
};

/* The path of the object that this is compiled into, as the loader knows it. */
static inline const char *own_path(void)
{
    static const char here;
    Dl_info info;
    return dladdr(&here, &info) != 0 ? info.dli_fname : "?";
}

/* Tells on stdout when the object is loaded and unloaded. */
#define TELL_LIFE                                             \
    __attribute__((constructor)) static void tell_load(void)  \
    {                                                         \
        dprintf(1, "+ %s\n", own_path());                     \
    }                                                         \
    __attribute__((destructor)) static void tell_unload(void) \
    {                                                         \
        dprintf(1, "- %s\n", own_path());                     \
    }

/* Of the object that this is compiled into. */
extern const struct entry entry;

#endif

/* SPDX-License-Identifier: MIT
 *
 * The dlsym() and dlvsym() of libc. The tracer calls these and never `dlsym`, which is its wrapper
 * for the program (dlsym.c); RTLD_NEXT passed to them means: after this library.
 *
 * They are found in the symbol tables of the objects that follow this library in the loader's list,
 * because dlsym() would find the wrapper.
 */
#ifndef SPECTER_TRACER_REAL_DLSYM_H
#define SPECTER_TRACER_REAL_DLSYM_H

#include <link.h>

/* One implementation; NULL where there is none. */
struct dl_functions {
    void *(*sym)(void *handle, const char *name);
    void *(*vsym)(void *handle, const char *name, const char *version);
};

/* libc's (libdl's before glibc 2.34): the tracer's own calls go to them. */
struct dl_functions real_loader(void);

/* The next ones after ours, which may be another preload's: the program's calls go to them. */
struct dl_functions next_loader(void);

/* The implementation that comes next after ours of another function of libdl's, NULL: none. */
int (*next_dlclose(void))(void *handle);
char *(*next_dlerror(void))(void);

/* real_loader().sym, for convenience. */
void *real_dlsym(void *handle, const char *name);

/* The object that `address` lies in, NULL: none; and our own. */
const struct link_map *object_of(const void *address);
const struct link_map *own_object(void);

#endif

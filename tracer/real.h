/* SPDX-License-Identifier: MIT
 *
 * The loader's own dlsym() and dlvsym(), behind ours. Our code calls these and never `dlsym`, which
 * is the program's way in (dlsym.c); RTLD_NEXT, asked from here, means: next after us.
 *
 * They are found in the symbol tables of the objects behind us in the loader's list, because
 * finding them by dlsym() would find ourselves.
 */
#ifndef SPECTER_TRACER_REAL_H
#define SPECTER_TRACER_REAL_H

#include <link.h>

/* One implementation; NULL where there is none. */
struct loader {
    void *(*sym)(void *handle, const char *name);
    void *(*vsym)(void *handle, const char *name, const char *version);
};

/* libc's (libdl's before glibc 2.34): what our own code asks. */
struct loader real_loader(void);

/* Whichever come next after ours, which may be another preload's: what the program's calls go to.
 */
struct loader next_loader(void);

/* The implementation that comes next after ours of another function of libdl's, NULL: none. */
int (*next_dlclose(void))(void *handle);
char *(*next_dlerror(void))(void);

/* real_loader().sym, for convenience. */
void *real_dlsym(void *handle, const char *name);

/* The object that `address` lies in, NULL: none; and our own. */
const struct link_map *object_of(const void *address);
const struct link_map *own_object(void);

#endif

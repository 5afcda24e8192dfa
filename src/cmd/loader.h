/* SPDX-License-Identifier: MIT
 *
 * Where the dynamic loader of this system looks for libraries.
 *
 *     struct loader l;
 *     loader_init(&l, &arena, 10);
 *     path = loader_file(&l.dirs, &arena, "libx.so.1");
 *     loader_release(&l);
 */
#ifndef SPECTER_CMD_LOADER_H
#define SPECTER_CMD_LOADER_H

#include <stddef.h>

struct arena;

/* What is behind the last '/' of a path. */
const char *path_base_name(const char *path);

/* Folders or files in order, each once. The array is owned, the texts are an arena's. */
struct dir_list {
    const char **dirs;
    size_t count, cap;
};

/* Appends, unless it is there. */
void dir_list_add(struct dir_list *list, const char *path);

struct loader {
    struct dir_list dirs;    /* of LD_LIBRARY_PATH, of its cache, its own */
    size_t from_environment; /* how many of them are of LD_LIBRARY_PATH, which come first */
};

/* Asks ldconfig for the cache, for as many seconds. Texts go to the arena. */
void loader_init(struct loader *l, struct arena *a, double limit_s);
void loader_release(struct loader *l);

/* The real path of the first library of this name in these folders that is of this machine's class
 * and processor; of one that holds a slash, its own. NULL: none. */
const char *loader_file(const struct dir_list *in, struct arena *a, const char *name);

#endif

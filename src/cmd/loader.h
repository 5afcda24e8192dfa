/* SPDX-License-Identifier: MIT
 *
 * Where libraries are looked for: by the dynamic loader of this system, and by NCCL for a profiler
 * plugin.
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

/* NCCL's one place for a profiler plugin, which libspecter.so wants for --nccl-plugin. NCCL takes
 * the plugin that NCCL_PROFILER_PLUGIN names, in the environment or in its configuration file, else
 * libnccl-profiler.so, else its network plugin where that is a profiler too; images bring either
 * for telemetry. */
#define NCCL_SLOT_VARIABLE "NCCL_PROFILER_PLUGIN"

enum nccl_slot_by { SLOT_FREE, SLOT_ENVIRONMENT, SLOT_FILE, SLOT_LIBRARY };

struct nccl_slot {
    enum nccl_slot_by by;
    const char
        *what; /* the variable's value, or the library's path; the arena's, or the environment's */
    const char *file; /* of SLOT_FILE: the configuration file */
};

struct nccl_slot nccl_slot_find(struct arena *a, const struct loader *l);

#endif

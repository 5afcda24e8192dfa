/* SPDX-License-Identifier: MIT */
#include "bench/libs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where makers put their libraries, when the loader does not know. */
static const struct {
    const char *variable, *otherwise, *inside;
} folders[] = {
    {"CUDA_HOME", "/usr/local/cuda", "lib64"},
    {"CUDA_HOME", "/usr/local/cuda", "lib"},
    {"ROCM_PATH", "/opt/rocm", "lib"},
};

static void *open_one(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders && library == NULL; i++) {
        const char *base = getenv(folders[i].variable);
        char path[4096];
        if (strchr(name, '/') != NULL)
            break;
        snprintf(path, sizeof path, "%s/%s/%s", base != NULL ? base : folders[i].otherwise,
                 folders[i].inside, name);
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

void *bench_lib_open(const char *const *names, const char **name, struct err *e)
{
    const char *first = names[0];
    for (; *names != NULL; names++) {
        void *library = open_one(*names);
        if (library == NULL)
            continue;
        if (name != NULL)
            *name = *names;
        return library;
    }
    err_set(e, ERR_INPUT, "no %s here", first);
    return NULL;
}

int bench_lib_bind(void *library, const char *prefix, const struct bench_symbol *symbols,
                   size_t count, void *table, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        char name[128];
        void *found;
        snprintf(name, sizeof name, "%s%s", prefix, symbols[i].name);
        found = dlsym(library, name);
        if (found == NULL)
            return err_set(e, ERR_INPUT, "the library has no %s", name);
        memcpy((char *)table + symbols[i].offset, &found, sizeof found);
    }
    return 0;
}

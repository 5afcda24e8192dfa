/* SPDX-License-Identifier: MIT */
#include "bench/backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Modules stand beside the program in a build folder, in ../lib/specter once installed. */
static const char *const module_folders[] = {"", "../lib/specter/"};

bool bench_module_find(const char *name, char *path, size_t size)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    self[len > 0 ? len : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash != NULL)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof module_folders / sizeof *module_folders; i++) {
        snprintf(path, size, "%s%sspecter_bench_%s.so", self, module_folders[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static const struct bench_backend *open_module(const char *name, struct err *e)
{
    char path[4200];
    void *library;
    bench_module *entry;
    if (!bench_module_find(name, path, sizeof path)) {
        err_set(e, ERR_INPUT,
                "the backend '%s' was not built: its headers were not here (try --backend nccl)",
                name);
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library != NULL)
        *(void **)&entry = dlsym(library, BENCH_MODULE);
    if (library == NULL || entry == NULL) {
        err_set(e, ERR_INPUT, "the backend '%s' cannot be used: %s", name, dlerror());
        return NULL;
    }
    return entry();
}

bool bench_backend_built(const char *name)
{
    char path[4200];
    return bench_module_find(name, path, sizeof path);
}

const struct bench_backend *bench_backend_find(const char *name, struct err *e)
{
    for (size_t i = 0; i < BENCH_BACKENDS_NCCL; i++) {
        if (strcmp(name, bench_backends_nccl[i].name) == 0)
            return &bench_backends_nccl[i];
    }
    if (strcmp(name, "gloo") == 0 || strcmp(name, "mpi") == 0)
        return open_module(name, e);
    err_set(e, ERR_USAGE, "unknown backend '%.32s'; known are nccl, rccl, ncclx, gloo, mpi", name);
    return NULL;
}

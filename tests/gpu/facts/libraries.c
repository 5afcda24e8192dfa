/* SPDX-License-Identifier: MIT
 *
 * The libraries, as the loader finds them by their sonames.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "facts.h"

struct api api;

enum library { CUDA, CUDART, CUBLASLT, CUBLAS, NCCL, LIBRARIES };

/* The newest first. */
static const char *const sonames[LIBRARIES][4] = {
    [CUDA] = {"libcuda.so.1"},
    [CUDART] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"},
    [CUBLASLT] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
    [CUBLAS] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
    [NCCL] = {"libnccl.so.2"},
};

#define STRING_(_text) #_text
#define STRING(_text) STRING_(_text)

static const struct {
    enum library library;
    const char *symbol;
    void *slot;
} calls[] = {
#define CALL(_library, _ret, _name, _params) {_library, STRING(_name), &api._name},
#include "calls.def"
#undef CALL
};

static uint64_t (*virtual_clock)(void);
static void (*virtual_join)(uint64_t);

/* Stands for what is not there. */
static int absent(void)
{
    answer("absent");
    _Exit(0);
}

static void *open_library(const char *const *names)
{
    void *opened = NULL;

    for (unsigned i = 0; i < 4 && names[i] && !opened; i++)
        opened = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    return opened;
}

void libraries_open(void)
{
    void *libraries[LIBRARIES], *symbol;

    for (unsigned i = 0; i < LIBRARIES; i++)
        libraries[i] = open_library(sonames[i]);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *library = libraries[calls[i].library];
        int (*none)(void) = absent;

        symbol = library ? dlsym(library, calls[i].symbol) : NULL;
        memcpy(calls[i].slot, symbol ? (void *)&symbol : (void *)&none, sizeof(symbol));
    }
    symbol = libraries[CUDA] ? dlsym(libraries[CUDA], "emu_time") : NULL;
    memcpy(&virtual_clock, &symbol, sizeof(symbol));
    symbol = symbol ? dlsym(libraries[CUDA], "emu_join") : NULL;
    memcpy(&virtual_join, &symbol, sizeof(symbol));
}

void clock_join(uint64_t now)
{
    if (virtual_join)
        virtual_join(now);
}

uint64_t clock_ns(void)
{
    struct timespec t;

    if (virtual_clock)
        return virtual_clock();
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

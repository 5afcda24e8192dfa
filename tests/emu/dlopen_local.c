/* SPDX-License-Identifier: MIT
 *
 * Opens libemuext.so as Python opens an extension, RTLD_LOCAL, and runs it: what is linked to the
 * extension is then invisible to dlsym(RTLD_NEXT).
 *
 *     dlopen_local LIBEMUEXT [ID_FILE [ROUNDS]]        RANK and WORLD_SIZE from the environment
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int number(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? (int)strtol(value, NULL, 10) : otherwise;
}

/* A function of the library, in a form that ISO C lets call. */
#define LOOK_UP(_library, _function, _params)           \
    int(*_function) _params;                            \
    *(void **)&_function = dlsym(_library, #_function); \
    if (!_function)                                     \
    return (fprintf(stderr, "dlopen_local: %s\n", dlerror()), 1)

static int run(void *library, const char *id_file, int rounds)
{
    int rank = number("RANK", 0), world = number("WORLD_SIZE", 1), line;
    float sum = 0;
    LOOK_UP(library, ext_init, (int, int, const char *));
    LOOK_UP(library, ext_allreduce, (size_t));
    LOOK_UP(library, ext_gemm, (int, int, int));
    LOOK_UP(library, ext_sum, (float *));
    LOOK_UP(library, ext_done, (void));
    line = ext_init(rank, world, id_file);
    for (int i = 0; i < rounds && !line; i++) {
        line = ext_gemm(512, 256, 1024);
        if (!line)
            line = ext_allreduce(65536);
    }
    line = line ? line : ext_sum(&sum);
    line = line ? line : ext_done();
    if (line)
        return (fprintf(stderr, "dlopen_local: ext.c:%d failed\n", line), 1);
    printf("rank %d of %d: sum %g\n", rank, world, (double)sum);
    return (int)sum == world * (world + 1) / 2 ? 0 : 1;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "dlopen_local: %s\n", argc > 1 ? dlerror() : "no library given");
        return 2;
    }
    return run(library, argc > 2 ? argv[2] : NULL, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 10);
}

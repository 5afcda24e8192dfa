/* SPDX-License-Identifier: MIT
 *
 * Shared by the check programs: examples/launch.sh starts them as ranks, which find each other
 * through SPECTER_EXAMPLE_ID, and rank 0 prints. CHECK ends the program with the place and both
 * values.
 */
#ifndef EMU_CHECK_H
#define EMU_CHECK_H

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(_got, _want)                                                                \
    do {                                                                                  \
        long long got_ = (long long)(_got), want_ = (long long)(_want);                   \
        if (got_ != want_) {                                                              \
            fprintf(stderr, "%s:%d: rank %d: %s is %lld, not %lld\n", __FILE__, __LINE__, \
                    check_rank(), #_got, got_, want_);                                    \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

#define OK(_call) CHECK(_call, 0)

static inline int check_env(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? (int)strtol(value, NULL, 10) : otherwise;
}

static inline int check_rank(void)
{
    return check_env("RANK", 0);
}

static inline int check_world(void)
{
    return check_env("WORLD_SIZE", 1);
}

/* The id of the communicator `name`, made by rank 0. */
static inline ncclUniqueId check_id(const char *name)
{
    char path[512], made[560];
    ncclUniqueId id;
    FILE *file;
    snprintf(path, sizeof path, "%s.%s", getenv("SPECTER_EXAMPLE_ID"), name);
    if (check_rank() == 0) {
        snprintf(made, sizeof made, "%s.new", path);
        OK(ncclGetUniqueId(&id));
        file = fopen(made, "wb");
        CHECK(file != NULL && fwrite(&id, sizeof id, 1, file) == 1 && fclose(file) == 0, 1);
        OK(rename(made, path));
        return id;
    }
    for (int i = 0; i < 10000; i++) {
        file = fopen(path, "rb");
        if (file) {
            CHECK(fread(&id, sizeof id, 1, file), 1);
            fclose(file);
            return id;
        }
        usleep(2000);
    }
    fprintf(stderr, "no unique id came\n");
    exit(1);
}

static inline ncclComm_t check_comm(const char *name)
{
    ncclComm_t comm;
    OK(cudaSetDevice(check_env("LOCAL_RANK", 0)));
    OK(ncclCommInitRank(&comm, check_world(), check_id(name), check_rank()));
    return comm;
}

#endif

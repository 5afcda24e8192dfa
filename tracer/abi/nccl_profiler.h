/* SPDX-License-Identifier: MIT
 *
 * NCCL's profiler interface, versions 1 to 6, as far as the tracer needs it. Facts from the headers
 * that NCCL publishes for plugins (github.com/NVIDIA/nccl, src/include/plugin/profiler/
 * profiler_v1.h to profiler_v6.h and nccl_profiler.h); the declarations are our own.
 *
 * NCCL opens the library that NCCL_PROFILER_PLUGIN names and takes the newest ncclProfiler_vN that
 * it knows: 2.23 v1, 2.24 v2, 2.26 v3, 2.27 v4, 2.28 v5, 2.29 v6. Handles are opaque to it.
 */
#ifndef SPECTER_TRACER_ABI_NCCL_PROFILER_H
#define SPECTER_TRACER_ABI_NCCL_PROFILER_H

#include <stddef.h>
#include <stdint.h>

enum profiler_type {
    PROFILER_GROUP = 1,
    PROFILER_COLL = 2,
    PROFILER_P2P = 4,
    PROFILER_KERNEL = 64, /* a channel's kernel; from version 3 on */
};

enum { PROFILER_KERNEL_STOP = 22 }; /* a state; from version 4 on, with a time */

/* The first fields of every event. `type` is a byte up to version 4, where the rest is not set. */
struct profiler_head {
    uint8_t type;
    void *parent;
    int rank;
};

struct profiler_coll_v1 {
    const char *name;
    uint64_t comm_hash, number;
    uint8_t function; /* ncclFunc_t */
    const void *send;
    void *recv;
    size_t count;
    int root;
    uint8_t type; /* ncclDataType_t */
    uint32_t op;
    size_t traffic;
    uint8_t channels_max, warps, algo, proto;
    int is_collnet, is_nvls;
};

struct profiler_p2p_v1 {
    const char *name;
    uint64_t comm_hash;
    uint8_t function;
    void *buffer;
    uint8_t type;
    size_t count;
    int peer;
};

struct profiler_coll_v2 {
    const char *name;
    uint64_t comm_hash, number;
    const char *function;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *type;
    size_t traffic;
    uint8_t channels_max, warps;
    const char *algo, *proto;
};

struct profiler_coll_v3 {
    const char *name;
    uint64_t comm_hash, number;
    const char *function;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *type;
    uint8_t channels_max, warps;
    const char *algo, *proto;
};

struct profiler_p2p_v2 { /* and 3 */
    const char *name;
    uint64_t comm_hash;
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
};

struct profiler_coll_v4 { /* 5 and 6 have one more at the end */
    uint64_t number;
    const char *function;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algo, *proto;
    void *group;
};

struct profiler_p2p_v4 { /* likewise */
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
    void *group;
};

struct profiler_kernel_v4 {
    uint8_t channel;
    uint64_t time_ns; /* the device's globaltimer */
};

struct profiler_event {
    struct profiler_head head;
    union {
        struct profiler_coll_v1 coll_v1;
        struct profiler_p2p_v1 p2p_v1;
        struct profiler_coll_v2 coll_v2;
        struct profiler_coll_v3 coll_v3;
        struct profiler_p2p_v2 p2p_v2;
        struct profiler_coll_v4 coll_v4;
        struct profiler_p2p_v4 p2p_v4;
        struct profiler_kernel_v4 kernel_v4;
    };
};

union profiler_state { /* version 4 on */
    uint64_t kernel_time_ns;
};

typedef void (*profiler_log)(int level, unsigned long flags, const char *file, int line,
                             const char *format, ...);

/* The functions return an ncclResult_t. */
typedef int profiler_start(void *context, void **event, struct profiler_event *what);
typedef int profiler_stop(void *event);
typedef int profiler_record(void *event, int state, union profiler_state *args);
typedef int profiler_finalize(void *context);

struct profiler_v1 { /* to 3 */
    const char *name;
    int (*init)(void **context, int *mask);
    profiler_start *start;
    profiler_stop *stop;
    profiler_record *record;
    profiler_finalize *finalize;
};

struct profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
                int ranks, int rank, profiler_log log);
    profiler_start *start;
    profiler_stop *stop;
    profiler_record *record;
    profiler_finalize *finalize;
};

struct profiler_v5 { /* and 6 */
    const char *name;
    int (*init)(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes,
                int ranks, int rank, profiler_log log);
    profiler_start *start;
    profiler_stop *stop;
    profiler_record *record;
    profiler_finalize *finalize;
};

#endif

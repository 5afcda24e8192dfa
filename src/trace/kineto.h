/* SPDX-License-Identifier: MIT
 *
 * One Kineto file while it is read. kineto.c streams it and collects; kineto_link.c joins device
 * work with the host calls that launched it, when the file is at its end; kineto_nccl.c knows what
 * communication kernels are called and what they move.
 */
#ifndef SPECTER_TRACE_KINETO_H
#define SPECTER_TRACE_KINETO_H

#include "trace/idmap.h"
#include "trace/kineto_event.h"
#include "trace/run.h"

/* A host call that put work on a stream. */
struct kineto_launch {
    int64_t start_ns, end_ns;
    uint32_t tid;
};

/* What the host side knows of a collective; counts are in elements, -1 unknown. */
struct kineto_meta {
    int op;    /* enum specter_comm_op; COUNT unknown */
    int dtype; /* enum specter_dtype; UNKNOWN */
    int64_t in_count, out_count;
    int64_t group_size;              /* 0 unknown */
    int64_t src, dst;                /* global ranks; -1 */
    int64_t seq;                     /* -1 */
    int64_t rank_start, rank_stride; /* of the group; -1 */
    const char *group;               /* process group; NULL when the trace names none */
    const char *group_text, *group_ranks;
};

enum kineto_host_kind { HOST_COLLECTIVE, HOST_PARAMS, HOST_GEMM };

/* A stretch of host time within which a launch means something. */
struct kineto_host_op {
    int64_t start_ns, end_ns;
    uint32_t tid;
    enum kineto_host_kind kind;
    int32_t parent;          /* index of the one around it; -1 */
    struct kineto_meta meta; /* HOST_COLLECTIVE, HOST_PARAMS */
    struct {
        uint32_t m, n, k, batch;
        int dtype;
        int64_t kernel; /* the op that is the product; -1 none so far */
    } gemm;             /* HOST_GEMM; m is 0 when the shapes are unknown */
};

/* A communication kernel: its op, and what its own args tell. */
struct kineto_comm_op {
    size_t op;
    struct kineto_meta meta;
};

struct kineto_sync {
    int64_t correlation, record_correlation;
    int64_t stream, event, event_stream;
};

/* A process group of distributedInfo. */
struct kineto_group {
    const char *name;
    int *ranks; /* owned by the run's arena */
    int size;
};

/* A process group whose communicator is known already; texts are interned. */
struct kineto_known_group {
    const char *group, *ranks;
    int64_t size, rank_start;
    int comm;
};

#define KINETO_LIST(type, name) \
    struct {                    \
        type *list;             \
        size_t count, cap;      \
    } name

struct kineto {
    struct run *run;
    struct rank *rank;
    const char *label;

    struct event_words words;
    struct memo texts;
    struct idmap threads;
    struct idmap launch_ids; /* correlation -> launches */
    KINETO_LIST(struct kineto_launch, launches);
    struct idmap act_ids; /* correlation -> the rank's acts */
    KINETO_LIST(struct kineto_sync, syncs);
    KINETO_LIST(struct kineto_host_op, host);
    KINETO_LIST(struct kineto_comm_op, comm);
    KINETO_LIST(size_t, gemms); /* ops whose kernels are named like products */

    /* what stands beside the events */
    void (*section)(struct kineto *k, struct json *j); /* of the key read last */
    bool at_events;
    bool has_distributed;
    int64_t recorded_rank, world_size, base_ns;
    KINETO_LIST(struct kineto_group, groups);
    KINETO_LIST(struct kineto_known_group, known);
    int ndevices;
    const char *device_names[64];

    uint64_t bad; /* elements that cannot be used */
    uint64_t bad_offset;
    const char *bad_reason;
    size_t other_device_ops; /* on another device than the first */
};

/* Finds launches, shapes, operations, communicators for what was collected; times are final and
 * everything is in order afterwards. */
void kineto_link(struct kineto *k);

/* Behind the last file: numbers collectives by what the traces of all ranks have, and notes what
 * they lack. */
void kineto_finish(struct run *run);

/* Is this kernel communication? */
bool kineto_is_comm(const char *kernel);

/* Is this kernel named as matrix products are? */
bool kineto_is_gemm(const char *kernel);

/* What the args of a kernel or of record_param_comms say. */
struct kineto_meta kineto_args_meta(struct kineto *k, const struct event_args *args);

/* What an nccl:* annotation says: its operation, and its inputs' shapes and type. */
struct kineto_meta kineto_annotation_meta(const char *name, const struct event_args *args);

/* Operation and communicator of one communication kernel from what is known, best source first:
 * its own args, record_param_comms, annotation; NULL for those that are not there. Bytes follow
 * from the counts; where nobody tells, OP_BYTES_UNKNOWN. */
void kineto_set_comm(struct kineto *k, struct op *op, const struct kineto_meta *own,
                     const struct kineto_meta *params, const struct kineto_meta *annotation);

/* Element type by its name in PyTorch ("Float", "c10::BFloat16", "long int"). */
int kineto_dtype(struct json_text name);

/* The i-th of a list of types, or the i-th shape: up to `max` extents into dims, how many there
 * are; -1 when there is no such entry or it is no plain shape. */
int kineto_type_at(struct json_text types, int i);
int kineto_shape_at(struct json_text dims, int i, int64_t *out, int max);

#endif

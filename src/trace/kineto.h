/* SPDX-License-Identifier: MIT
 *
 * One Kineto file while it is read. kineto.c streams it and takes what stands beside the events;
 * kineto_event.c reads one event, kineto_add.c collects them. When the file is at its end,
 * kineto_link.c joins device work with the host calls that launched it, and with the operators
 * around these; kineto_nccl.c knows what communication kernels are called and what they move,
 * kineto_batch.c those that carry out several calls.
 */
#ifndef SPECTER_TRACE_KINETO_H
#define SPECTER_TRACE_KINETO_H

#include "base/idmap.h"
#include "base/json.h"
#include "trace/api_calls.h"
#include "trace/product.h"
#include "trace/reader.h"
#include "trace/run.h"
#include "trace/window.h"

/* ---- names and shapes (kineto_name.c) ----
 *
 * PyTorch's names of element types, files and steps, and its form of shapes. */

#define KINETO_STEP "ProfilerStep#" /* begins the name of a step, before its number */

/* Element type by its name in PyTorch ("Float", "c10::BFloat16", "long int"). */
int kineto_dtype(struct json_text name);

/* The i-th of a list of types, or the i-th shape: up to `max` extents into dims, how many there
 * are; -1 when there is no such entry or it is no plain shape. */
int kineto_type_at(struct json_text types, int i);
int kineto_shape_at(struct json_text dims, int i, int64_t *out, int max);

/* Steps into a list and to its i-th element. */
bool kineto_go_to_item(struct json *j, struct json_text list, int i);

/* The range of torch.profiler's step numbers among a rank's steps. False: it has none. */
bool kineto_step_numbers(const struct rank *rank, int64_t *first, int64_t *last);

/* The host in the name of a file as tensorboard_trace_handler makes it,
 * HOST_PID.TIME.pt.trace.json, where PID is `pid`; "" in other names. In the arena. */
const char *kineto_host_in_label(struct arena *arena, const char *label, int64_t pid);

/* ---- one event (kineto_event.c) ----
 *
 * One element of a Kineto trace's traceEvents, as far as the reader needs it. Many elements are not
 * needed (Python frames, flow arrows, counters): these are left as soon as their category or name
 * is known. Of operators only the name, the times and the id are taken.
 *
 * Keys come in any order; in the usual one every event is scanned once. */

enum event_kind {
    EVENT_OTHER, /* of no interest */
    EVENT_KERNEL,
    EVENT_MEMCPY,
    EVENT_MEMSET,
    EVENT_LAUNCH,     /* host call that puts work on a stream */
    EVENT_SYNC_CALL,  /* host call that orders or awaits it: detail says which */
    EVENT_SYNC,       /* what the profiler knows of such a call (cuda_sync) */
    EVENT_PARAMS,     /* record_param_comms */
    EVENT_COLLECTIVE, /* nccl:* annotation, or an operator that communicates */
    EVENT_PRODUCT,    /* operator whose arithmetic its inputs tell (product.h) */
    EVENT_STEP,       /* ProfilerStep#N */
    EVENT_OP,         /* any other operator: it may be what launched a kernel */
    EVENT_MARK,       /* a range that the program named, or a module */
    EVENT_GPU_MARK,   /* the same as its work on the device */
};

enum kernel_kind { KERNEL_OTHER, KERNEL_COMM, KERNEL_COMPUTES }; /* products, attention */

/* Keys of "args" that are read, each into a field of struct event_args.
 * X(field, kind, key): NUM whole number, STR text, RAW the value as it stands */
#define EVENT_ARGS(X)                               \
    X(correlation, NUM, "correlation")              \
    X(external, NUM, "External id")                 \
    X(record_id, NUM, "Record function id")         \
    X(device, NUM, "device")                        \
    X(stream, NUM, "stream")                        \
    X(bytes, NUM, "bytes")                          \
    X(dims, RAW, "Input Dims")                      \
    X(types, RAW, "Input type")                     \
    X(values, RAW, "Concrete Inputs")               \
    X(collective, STR, "Collective name")           \
    X(in_count, NUM, "In msg nelems")               \
    X(out_count, NUM, "Out msg nelems")             \
    X(dtype, STR, "dtype")                          \
    X(group_size, NUM, "Group size")                \
    X(group, STR, "Process Group Name")             \
    X(group_text, STR, "Process Group Description") \
    X(group_ranks, LIST, "Process Group Ranks")     \
    X(rank_start, NUM, "Global rank start")         \
    X(rank_stride, NUM, "Global rank stride")       \
    X(group_rank, NUM, "Rank")                      \
    X(src, NUM, "Src Rank")                         \
    X(dst, NUM, "Dst Rank")                         \
    X(seq, NUM, "Seq")                              \
    X(event_id, NUM, "wait_on_cuda_event_id")       \
    X(event_stream, NUM, "wait_on_stream")          \
    X(record_correlation, NUM, "wait_on_cuda_event_record_corr_id")

#define ARG_NONE INT64_MIN /* a number that is not there */

#define EVENT_ARG_NUM int64_t
#define EVENT_ARG_STR struct json_text
#define EVENT_ARG_RAW struct json_text
#define EVENT_ARG_LIST struct json_text /* a text that holds a list, or the list itself */

struct event_args {
#define X(field, kind, key) EVENT_ARG_##kind field;
    EVENT_ARGS(X)
#undef X
};

/* Texts are views into the scanned bytes; name is interned. */
struct kineto_event {
    enum event_kind kind;
    int detail; /* EVENT_LAUNCH: enum api_call; EVENT_SYNC_CALL: enum sync_call_kind; EVENT_KERNEL:
                   enum kernel_kind */
    const char *name;       /* NULL when the element has none */
    struct memo_slot *slot; /* of the name */
    int64_t ts_ns, dur_ns;  /* UNKNOWN_NS; as written, without the trace's base */
    int64_t pid, tid;       /* a text that is no number has a negative one of its own */
    bool damaged;           /* its args make no sense */
    bool is_operator;       /* category cpu_op, whatever the kind */
    struct event_args args;
};

struct event_memos {
    struct memo names[EVENT_MARK + 1]; /* by what the category alone tells */
};

/* Reads the element that j stands at. false with j's error when it is malformed; then nothing has
 * been changed but the memo. Kind EVENT_OTHER: passed over. */
bool event_parse(struct kineto_event *ev, struct json *j, struct event_memos *words,
                 struct run *run);

/* A whole number, also one written as text; ARG_NONE for null and other texts. */
int64_t event_number(struct json *j);

/* Microseconds with a fraction, also written as text, in ns; UNKNOWN_NS for null and other texts.
 */
int64_t event_time_ns(struct json *j);

void event_args_init(struct event_args *args); /* nothing is there */

/* ---- one file ---- */

/* Among correlations, which are not negative: the external id of a call that has none. */
#define KINETO_EXTERNAL(id) (-2 - (int64_t)(id))

/* A host call that put work on a stream. */
struct kineto_launch {
    int64_t start_ns, end_ns;
    uint32_t tid;
    enum api_call call;
};

/* The host side's record of a collective; counts are in elements, -1 unknown. */
struct kineto_meta {
    int op;    /* enum specter_comm_op; COUNT unknown */
    int dtype; /* enum specter_dtype; UNKNOWN */
    int64_t in_count, out_count;
    int64_t group_size;              /* 0 unknown */
    int64_t group_rank;              /* peer, root, or who records; -1 */
    int64_t src, dst;                /* global ranks; -1 */
    int64_t seq;                     /* -1 */
    int64_t rank_start, rank_stride; /* of the group; -1 */
    const char *group;               /* process group; NULL when the trace names none */
    const char *group_text, *group_ranks;
};

/* One of those as it is kept: traces repeat the same few hundred but for their numbers, and keep
 * each once. */
struct kineto_kept {
    int64_t seq;
    uint32_t at; /* in metas; seq is not to be read there */
};

#define KINETO_METAS 256 /* so many are recognised at a time */

enum kineto_host_kind { HOST_COLLECTIVE, HOST_PARAMS, HOST_PRODUCT };

#define WORK_NONE (-1)
#define WORK_MANY (-2)

/* A stretch of host time within which a launch means something. */
struct kineto_host_op {
    int64_t start_ns, end_ns;
    uint32_t tid;
    enum kineto_host_kind kind;
    int32_t parent;     /* index of the one around it; -1 */
    int32_t depth;      /* how many there are around it */
    int64_t work;       /* the op that is its work: WORK_NONE, WORK_MANY */
    const char *name;   /* interned */
    uint64_t record_id; /* "Record function id"; 0 unknown */
    union {
        struct kineto_kept meta; /* HOST_COLLECTIVE, HOST_PARAMS */
        struct product product;  /* HOST_PRODUCT */
    };
};

/* A communication kernel: its op, and what its own args tell. */
struct kineto_comm_op {
    size_t op;
    struct kineto_kept meta;
};

/* An operator of the framework. */
struct kineto_caller {
    int64_t start_ns, end_ns;
    const char *name; /* interned */
    uint32_t tid;
    uint32_t external; /* the profiler's id; 0 none */
};

struct kineto_sync {
    int64_t correlation, record_correlation;
    int64_t stream, event, event_stream;
};

/* A process group of distributedInfo. */
struct kineto_group {
    const char *name, *text; /* its description; "" unknown */
    int *ranks;              /* owned by the run's arena */
    int size;
};

/* A process group whose communicator is known already. */
struct kineto_known_group {
    const char *group; /* interned */
    int64_t size;
    int comm; /* -1: not to be believed */
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

    struct event_memos words;
    struct memo texts;
    struct idmap threads;
    struct idmap text_streams; /* of device work that names its stream by a text */
    struct idmap launch_ids;   /* correlation -> launches */
    KINETO_LIST(struct kineto_launch, launches);
    struct idmap sync_call_ids; /* correlation -> the rank's sync calls */
    KINETO_LIST(struct kineto_sync, syncs);
    KINETO_LIST(struct kineto_host_op, host);
    KINETO_LIST(struct kineto_meta, metas);
    uint32_t
        known_metas[KINETO_METAS]; /* by hash, those met last: place in metas plus one; 0: none */
    KINETO_LIST(struct kineto_comm_op, comm);
    KINETO_LIST(size_t, computing); /* ops whose kernels are named like products or attention */
    KINETO_LIST(struct kineto_caller, callers);
    KINETO_LIST(uint32_t, externals);      /* of the rank's ops; 0 none */
    KINETO_LIST(struct mark, gpu_marks);   /* used where the host's are missing */
    struct idmap processes, gpu_processes; /* pids of launches; of device work */
    struct idmap gpus;                     /* devices of the same */
    bool strange_process;                  /* device work whose pid is not its device */

    /* what stands beside the events */
    bool has_base;
    int64_t recorded_rank, world_size, base_ns;
    int64_t reported_rank; /* by collectives that say which member recorded them; -1 */
    KINETO_LIST(struct kineto_group, groups);
    int64_t too_large; /* groups of so many ranks are no longer believed; 0: none was refused */
    struct idmap group_ids;                             /* name of a group -> known */
    KINETO_LIST(struct kineto_known_group, known);      /* each name once; */
    KINETO_LIST(struct kineto_known_group, known_more); /* and once more, with another size */
    int ndevices;
    const char *device_names[64];

    uint64_t bad; /* elements that cannot be used */
    uint64_t bad_offset;
    const char *bad_reason;
    size_t other_device_ops; /* on another device than the first */
    size_t streamless;       /* kernels and copies without a stream */
};

void kineto_add_event(struct kineto *k, struct kineto_event *ev);

/* Returns a kept record as a whole. */
static inline struct kineto_meta kineto_meta_of(const struct kineto *k,
                                                const struct kineto_kept *kept)
{
    struct kineto_meta meta = k->metas.list[kept->at];
    meta.seq = kept->seq;
    return meta;
}

/* The communicators of all groups that the trace describes, so that calls which describe theirs
 * less well find them. */
void kineto_learn_groups(struct kineto *k);

/* After the last event: first the launches, operations and communicators of what was collected;
 * then, with the rank's number, its memberships, callers and shapes. Times are final and everything
 * is in order afterwards. */
void kineto_link_comm(struct kineto *k);
void kineto_link(struct kineto *k);

/* The innermost stretch of host time around a launch, and the one around that; NULL. */
struct kineto_host_op *kineto_around(struct kineto *k, const struct op *op);
struct kineto_host_op *kineto_outer(struct kineto *k, const struct kineto_host_op *host);

/* Reads the args of a kernel or of record_param_comms. */
struct kineto_meta kineto_args_meta(struct kineto *k, const struct event_args *args);

/* Reads an nccl:* annotation or an operator that communicates: its operation, and its inputs'
 * shapes and type. */
struct kineto_meta kineto_annotation_meta(const char *name, const struct event_args *args);

/* Operation and communicator of one communication kernel from what is known, best source first:
 * its own args, record_param_comms, annotation; NULL for those that are not there. Bytes follow
 * from the counts; where no trace tells, OP_BYTES_UNKNOWN. */
void kineto_set_comm(struct kineto *k, struct op *op, const struct kineto_meta *own,
                     const struct kineto_meta *params, const struct kineto_meta *annotation);

/* The same of kernels that carry out a batch of calls, from the records before their launch. */
void kineto_link_batches(struct kineto *k);

/* Completes a communication kernel by an execution trace: its operation where it was not known or
 * only roughly, its size, type and group where they were not. False: nothing was added. Its number
 * is left as it is. */
bool kineto_complete_comm(struct kineto *k, struct op *op, const struct kineto_meta *meta);

/* Process groups, as distributedInfo and execution traces list them. */
void kineto_take_groups(struct kineto *k, struct json *j);
void kineto_groups_release(struct kineto *k);

#endif

/* SPDX-License-Identifier: MIT
 *
 * One element of a Kineto trace's traceEvents, as far as anybody asks for it. Many elements are not
 * asked for (Python frames, flow arrows, counters): these are left as soon as their category or
 * name is known. Of operators only the name, the times and the id are taken.
 *
 * Keys come in any order; in the usual one every event is scanned once.
 */
#ifndef SPECTER_TRACE_KINETO_EVENT_H
#define SPECTER_TRACE_KINETO_EVENT_H

#include "base/json.h"
#include "trace/memo.h"

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
    X(group_ranks, STR, "Process Group Ranks")      \
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

void event_args_init(struct event_args *args); /* nothing is there */

#endif

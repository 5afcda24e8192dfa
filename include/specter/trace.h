/* SPDX-License-Identifier: MIT
 *
 * The trace format, version 1: JSON Lines, one file a process.
 *
 * This header is the one place that names what a trace can hold. The tracer expands its tables to
 * write records, the readers expand the same tables to find keys, and docs/trace-format.md is
 * tested against them. It includes nothing but the fixed-width types, so that it can live in
 * another program's process.
 *
 * Times in a file are microseconds with three decimals; in memory they are integer nanoseconds.
 *   start_us                       time of the operation's own device, counted from a base set at
 *                                  init.mono_ns; `clock` records map it to the host clocks
 *   host_us, host_end_us, time_us  CLOCK_MONOTONIC since init.mono_ns
 *
 * To add a record field: one line in the table of its record, its <RECORD>_<key> in the writer
 * (tracer/format.c) and in the reader (src/trace/jsonl_record.c), which do not compile without it,
 * and its line in docs/trace-format.md.
 */
#ifndef SPECTER_TRACE_H
#define SPECTER_TRACE_H

#include <stddef.h>
#include <stdint.h>

#define SPECTER_TRACE_VERSION 1
#define SPECTER_TRACE_PREFIX "specter_trace_"
#define SPECTER_TRACE_SUFFIX ".jsonl"

/* The name of a run that one `specter capture` made up for itself begins so. */
#define SPECTER_CAPTURE_PREFIX "capture-"

/* In the folder of the traces: a file that asks running tracers for a dump, and the folder that it
 * names for their answers. */
#define SPECTER_DUMP_REQUEST ".specter_dump"
#define SPECTER_DUMP_PREFIX "dump-"

/* Longest line a writer makes and a reader accepts, the newline included. */
#define SPECTER_LINE_MAX 65536

/* Operations that move data between ranks.
 * X(id, name, class, bytes factor, bus numerator)
 *   class         COLL: every member takes part, numbered by `seq`; P2P: has a `peer`, and is
 *                 numbered by `p2p_seq` but for Put, Signal and WaitSignal, which no call of the
 *                 peer answers
 *   bytes factor  full buffer S (nccl-tests): ONE count*size; ALL nranks*count*size; SUM the sum
 *                 over peers, which the caller passes as `count`
 *   bus factor    busbw = algbw*f: TWO f=2(n-1)/n; PART f=(n-1)/n; UNIT f=1
 *                 (nccl-tests, doc/PERFORMANCE.md) */
#define SPECTER_COMM_OPS(X)                            \
    X(ALLREDUCE, "AllReduce", COLL, ONE, TWO)          \
    X(ALLGATHER, "AllGather", COLL, ALL, PART)         \
    X(REDUCESCATTER, "ReduceScatter", COLL, ALL, PART) \
    X(ALLTOALL, "AlltoAll", COLL, ALL, PART)           \
    X(ALLTOALLV, "AlltoAllv", COLL, SUM, PART)         \
    X(BROADCAST, "Broadcast", COLL, ONE, UNIT)         \
    X(REDUCE, "Reduce", COLL, ONE, UNIT)               \
    X(GATHER, "Gather", COLL, ALL, PART)               \
    X(SCATTER, "Scatter", COLL, ALL, PART)             \
    X(SEND, "Send", P2P, ONE, UNIT)                    \
    X(RECV, "Recv", P2P, ONE, UNIT)                    \
    X(PUT, "Put", P2P, ONE, UNIT)                      \
    X(SIGNAL, "Signal", P2P, ONE, UNIT)                \
    X(WAIT_SIGNAL, "WaitSignal", P2P, ONE, UNIT)

enum specter_comm_op {
#define X(id, name, class, bytes, bus) SPECTER_##id,
    SPECTER_COMM_OPS(X)
#undef X
        SPECTER_COMM_OP_COUNT
};

/* Element types. X(id, name, bytes, ncclDataType_t or -1, cudaDataType_t or -1)
 * tf32 is a compute type: its elements are stored as fp32. fp4 holds two elements a byte; its size
 * is given as 0 and callers that need bytes use specter_dtype_bits(). */
#define SPECTER_DTYPES(X)            \
    X(INT8, "int8", 1, 0, 3)         \
    X(UINT8, "uint8", 1, 1, 8)       \
    X(INT32, "int32", 4, 2, 10)      \
    X(UINT32, "uint32", 4, 3, 12)    \
    X(INT64, "int64", 8, 4, 24)      \
    X(UINT64, "uint64", 8, 5, 26)    \
    X(FP16, "fp16", 2, 6, 2)         \
    X(FP32, "fp32", 4, 7, 0)         \
    X(FP64, "fp64", 8, 8, 1)         \
    X(BF16, "bf16", 2, 9, 14)        \
    X(FP8E4M3, "fp8e4m3", 1, 10, 28) \
    X(FP8E5M2, "fp8e5m2", 1, 11, 29) \
    X(TF32, "tf32", 4, -1, -1)       \
    X(FP4, "fp4", 0, -1, 33)

enum specter_dtype {
#define X(id, name, bytes, nccl, cuda) SPECTER_##id,
    SPECTER_DTYPES(X)
#undef X
        SPECTER_DTYPE_COUNT,
    SPECTER_DTYPE_UNKNOWN = SPECTER_DTYPE_COUNT
};

/* Reduction operators. X(id, name, ncclRedOp_t or -1); values from ncclNumOps on are user-made,
 * which today can only be premultiplied sums. */
#define SPECTER_REDOPS(X) \
    X(SUM, "sum", 0)      \
    X(PROD, "prod", 1)    \
    X(MAX, "max", 2)      \
    X(MIN, "min", 3)      \
    X(AVG, "avg", 4)      \
    X(PREMUL, "premul", -1)

enum specter_redop {
#define X(id, name, nccl) SPECTER_REDOP_##id,
    SPECTER_REDOPS(X)
#undef X
        SPECTER_REDOP_COUNT,
    SPECTER_REDOP_NONE = SPECTER_REDOP_COUNT
};

/* Ways to get a device time. X(id, name) */
#define SPECTER_TIMINGS(X)                                              \
    X(DEVICE, "device")     /* events on the operation's stream */      \
    X(SYNC, "sync")         /* host clock around a synchronised call */ \
    X(HOST, "host")         /* the enqueue only */                      \
    X(CAPTURED, "captured") /* inside a graph capture: not run now */   \
    X(GRAPH, "graph")       /* part of a timed graph launch */          \
    X(UNKNOWN, "unknown")   /* launched later than we can see */        \
    X(NONE, "none")         /* not finished */

enum specter_timing {
#define X(id, name) SPECTER_TIMING_##id,
    SPECTER_TIMINGS(X)
#undef X
        SPECTER_TIMING_COUNT
};

/* clang-format off */
/* Copies and fills. X(id, name) */
#define SPECTER_COPIES(X)                     \
    X(H2D, "h2d")                             \
    X(D2H, "d2h")                             \
    X(D2D, "d2d")                             \
    X(P2P, "p2p")       /* between devices */ \
    X(H2H, "h2h")                             \
    X(MEMSET, "memset")
/* clang-format on */

enum specter_copy {
#define X(id, name) SPECTER_COPY_##id,
    SPECTER_COPIES(X)
#undef X
        SPECTER_COPY_COUNT
};

/* clang-format off */
/* Classes of kernels that no other record stands for, told by their names. X(id, name) */
#define SPECTER_KERNEL_CLASSES(X)   \
    X(ATTENTION, "attention")       \
    X(GEMM, "gemm")                 \
    X(ELEMENTWISE, "elementwise")   \
    X(REDUCTION, "reduction")       \
    X(COPY, "copy")                 \
    X(OPTIMIZER, "optimizer")       \
    X(COMM, "communication")        \
    X(OTHER, "other")
/* clang-format on */

enum specter_kernel_class {
#define X(id, name) SPECTER_KERNEL_##id,
    SPECTER_KERNEL_CLASSES(X)
#undef X
        SPECTER_KERNEL_CLASS_COUNT
};

/* clang-format off */
/* Kinds of marks. X(id, name) */
#define SPECTER_MARKS(X)                                                        \
    X(MARK, "mark")           /* a moment that the program names */             \
    X(ITERATION, "iteration") /* a moment at which a training step begins */    \
    X(RANGE, "range")         /* from time_us to end_us, on one thread */
/* clang-format on */

enum specter_mark {
#define X(id, name) SPECTER_MARK_##id,
    SPECTER_MARKS(X)
#undef X
        SPECTER_MARK_COUNT
};

/* The records. SPECTER_<RECORD>_FIELDS(X) lists the keys in the order a writer emits them:
 * X(key, kind, when)
 *   kind  STR  string or null            U64 unsigned integer or null    I64 signed or null
 *         US   microseconds, 3 decimals  F1  number, one decimal         RAW any JSON value
 *   when  ALWAYS, or SOME: only where it means something
 * Readers take any order, ignore keys they do not know, and read null as unknown. */
#define SPECTER_INIT_FIELDS(X) \
    X(event, STR, ALWAYS)      \
    X(version, U64, ALWAYS)    \
    X(run, STR, ALWAYS)        \
    X(rank, I64, ALWAYS)       \
    X(world_size, I64, ALWAYS) \
    X(local_rank, I64, ALWAYS) \
    X(sync_mode, U64, ALWAYS)  \
    X(pid, U64, ALWAYS)        \
    X(host, STR, ALWAYS)       \
    X(mono_ns, U64, ALWAYS)    \
    X(real_ns, U64, ALWAYS)    \
    X(coverage, RAW, ALWAYS)   \
    X(sample, U64, ALWAYS)     \
    X(nccl, U64, ALWAYS)       \
    X(cuda, U64, ALWAYS)       \
    X(nccl_file, STR, SOME)    \
    X(nccl_build, STR, SOME)   \
    X(gpus, RAW, ALWAYS)       \
    X(env, RAW, ALWAYS)        \
    X(window, STR, SOME)       \
    X(ring, U64, SOME)

#define SPECTER_COMM_FIELDS(X) \
    X(event, STR, ALWAYS)      \
    X(time_us, US, ALWAYS)     \
    X(comm, STR, ALWAYS)       \
    X(comm_rank, I64, ALWAYS)  \
    X(comm_size, I64, ALWAYS)  \
    X(device, I64, ALWAYS)     \
    X(parent, STR, ALWAYS)     \
    X(split_seq, I64, ALWAYS)  \
    X(color, I64, ALWAYS)      \
    X(key, I64, ALWAYS)        \
    X(name, STR, ALWAYS)       \
    X(nodes, I64, ALWAYS)

#define SPECTER_NCCL_FIELDS(X) \
    X(id, U64, ALWAYS)         \
    X(type, STR, ALWAYS)       \
    X(op, STR, ALWAYS)         \
    X(start_us, US, ALWAYS)    \
    X(duration_us, US, ALWAYS) \
    X(bytes, U64, ALWAYS)      \
    X(count, U64, ALWAYS)      \
    X(dtype, STR, ALWAYS)      \
    X(redop, STR, ALWAYS)      \
    X(comm, STR, ALWAYS)       \
    X(comm_rank, I64, ALWAYS)  \
    X(comm_size, I64, ALWAYS)  \
    X(seq, I64, ALWAYS)        \
    X(peer, I64, SOME)         \
    X(p2p_seq, U64, SOME)      \
    X(root, I64, SOME)         \
    X(inplace, U64, SOME)      \
    X(device, I64, ALWAYS)     \
    X(stream, I64, ALWAYS)     \
    X(tid, U64, ALWAYS)        \
    X(group, I64, ALWAYS)      \
    X(host_us, US, ALWAYS)     \
    X(host_end_us, US, ALWAYS) \
    X(timing, STR, ALWAYS)     \
    X(bound, STR, SOME)        \
    X(graph, U64, SOME)

#define SPECTER_CUBLAS_FIELDS(X) \
    X(id, U64, ALWAYS)           \
    X(type, STR, ALWAYS)         \
    X(op, STR, ALWAYS)           \
    X(start_us, US, ALWAYS)      \
    X(duration_us, US, ALWAYS)   \
    X(m, U64, ALWAYS)            \
    X(n, U64, ALWAYS)            \
    X(k, U64, ALWAYS)            \
    X(batch, U64, ALWAYS)        \
    X(dtype, STR, ALWAYS)        \
    X(dtype_b, STR, ALWAYS)      \
    X(dtype_c, STR, ALWAYS)      \
    X(compute, STR, ALWAYS)      \
    X(trans, STR, ALWAYS)        \
    X(lda, I64, ALWAYS)          \
    X(ldb, I64, ALWAYS)          \
    X(ldc, I64, ALWAYS)          \
    X(beta, RAW, ALWAYS)         \
    X(epilogue, STR, ALWAYS)     \
    X(order, STR, SOME)          \
    X(groups, U64, SOME)         \
    X(flop, U64, SOME)           \
    X(tflops, F1, ALWAYS)        \
    X(device, I64, ALWAYS)       \
    X(stream, I64, ALWAYS)       \
    X(tid, U64, ALWAYS)          \
    X(host_us, US, ALWAYS)       \
    X(host_end_us, US, ALWAYS)   \
    X(timing, STR, ALWAYS)       \
    X(bound, STR, SOME)          \
    X(graph, U64, SOME)

/* kind: "record" or "wait" */
#define SPECTER_DEP_FIELDS(X)  \
    X(type, STR, ALWAYS)       \
    X(kind, STR, ALWAYS)       \
    X(cuda_event, U64, ALWAYS) \
    X(device, I64, ALWAYS)     \
    X(stream, I64, ALWAYS)     \
    X(tid, U64, ALWAYS)        \
    X(host_us, US, ALWAYS)     \
    X(host_end_us, US, ALWAYS)

/* kind: "stream" (names stream), "event" (names cuda_event) or "device" */
#define SPECTER_SYNC_FIELDS(X) \
    X(type, STR, ALWAYS)       \
    X(kind, STR, ALWAYS)       \
    X(cuda_event, U64, SOME)   \
    X(device, I64, ALWAYS)     \
    X(stream, I64, SOME)       \
    X(tid, U64, ALWAYS)        \
    X(host_us, US, ALWAYS)     \
    X(host_end_us, US, ALWAYS)

/* kind: of SPECTER_COPIES */
#define SPECTER_COPY_FIELDS(X) \
    X(id, U64, ALWAYS)         \
    X(type, STR, ALWAYS)       \
    X(kind, STR, ALWAYS)       \
    X(start_us, US, ALWAYS)    \
    X(duration_us, US, ALWAYS) \
    X(bytes, U64, ALWAYS)      \
    X(device, I64, ALWAYS)     \
    X(stream, I64, ALWAYS)     \
    X(tid, U64, ALWAYS)        \
    X(host_us, US, ALWAYS)     \
    X(host_end_us, US, ALWAYS) \
    X(timing, STR, ALWAYS)     \
    X(bound, STR, SOME)        \
    X(graph, U64, SOME)

/* Kernels that one thread launched on a stream since its last record there: host_us is the first
 * launch, host_end_us the end of the last, max_gap_us the longest time between two. classes: counts
 * by name of SPECTER_KERNEL_CLASSES, those that are not 0. */
#define SPECTER_UNTRACED_FIELDS(X) \
    X(type, STR, ALWAYS)           \
    X(launches, U64, ALWAYS)       \
    X(classes, RAW, ALWAYS)        \
    X(device, I64, ALWAYS)         \
    X(stream, I64, ALWAYS)         \
    X(tid, U64, ALWAYS)            \
    X(host_us, US, ALWAYS)         \
    X(host_end_us, US, ALWAYS)     \
    X(max_gap_us, US, ALWAYS)      \
    X(graph, U64, SOME)

/* A launch of a graph. graph: the capture it came from, as in the records of what was captured;
 * launch: how many launches of it came before; op_count: recorded operations in it, and ops their
 * ids, in its first launch and as far as a line can hold them. */
#define SPECTER_GRAPH_FIELDS(X) \
    X(id, U64, ALWAYS)          \
    X(type, STR, ALWAYS)        \
    X(graph, U64, ALWAYS)       \
    X(launch, U64, ALWAYS)      \
    X(op_count, U64, ALWAYS)    \
    X(ops, RAW, SOME)           \
    X(start_us, US, ALWAYS)     \
    X(duration_us, US, ALWAYS)  \
    X(device, I64, ALWAYS)      \
    X(stream, I64, ALWAYS)      \
    X(tid, U64, ALWAYS)         \
    X(host_us, US, ALWAYS)      \
    X(host_end_us, US, ALWAYS)  \
    X(timing, STR, ALWAYS)      \
    X(bound, STR, SOME)

/* Details of an operation from NCCL's profiler interface: joined by (comm, comm_rank, seq), or for
 * a message by (comm, comm_rank, peer, op, seq). algo and proto are NCCL's own words; kernel_us:
 * from the first start to the last end of its channels' kernels. */
#define SPECTER_PLUGIN_FIELDS(X) \
    X(type, STR, ALWAYS)         \
    X(op, STR, ALWAYS)           \
    X(comm, STR, ALWAYS)         \
    X(comm_rank, I64, ALWAYS)    \
    X(seq, I64, ALWAYS)          \
    X(peer, I64, SOME)           \
    X(algo, STR, ALWAYS)         \
    X(proto, STR, ALWAYS)        \
    X(channels, U64, ALWAYS)     \
    X(kernel_us, US, ALWAYS)

#define SPECTER_CLOCK_FIELDS(X) \
    X(event, STR, ALWAYS)       \
    X(device, I64, ALWAYS)      \
    X(dev_us, US, ALWAYS)       \
    X(mono_ns, U64, ALWAYS)     \
    X(real_ns, U64, ALWAYS)     \
    X(err_ns, U64, ALWAYS)

/* kind: of SPECTER_MARKS; a mark without it is an iteration */
#define SPECTER_MARK_FIELDS(X) \
    X(event, STR, ALWAYS)      \
    X(name, STR, ALWAYS)       \
    X(time_us, US, ALWAYS)     \
    X(kind, STR, ALWAYS)       \
    X(tid, U64, ALWAYS)        \
    X(end_us, US, SOME)

/* From time_us on one operation in `rate` of type `of` ("cublas") is recorded; `why`:
 * "asked" or "governor". */
#define SPECTER_SAMPLE_FIELDS(X) \
    X(event, STR, ALWAYS)        \
    X(time_us, US, ALWAYS)       \
    X(of, STR, ALWAYS)           \
    X(rate, U64, ALWAYS)         \
    X(why, STR, ALWAYS)

/* A dump was requested: at time_us every operation under way has a line. */
#define SPECTER_DUMP_FIELDS(X) \
    X(event, STR, ALWAYS)      \
    X(time_us, US, ALWAYS)

#define SPECTER_SHUTDOWN_FIELDS(X) \
    X(event, STR, ALWAYS)          \
    X(time_us, US, ALWAYS)         \
    X(total_ops, U64, ALWAYS)      \
    X(dropped, U64, ALWAYS)        \
    X(summary, RAW, ALWAYS)

/* Sums over a process in the `summary` of its closing record: kinds of work in `time`, X(id, key),
 * and rows of `comms` with a histogram, where bin i counts durations from 2^i ns to below 2^(i+1);
 * the first and the last bin hold what is shorter and longer, too. */
#define SPECTER_SUM_KINDS(X)      \
    X(COLLECTIVES, "collectives") \
    X(MESSAGES, "messages")       \
    X(GEMMS, "gemms")             \
    X(COPIES, "copies")           \
    X(GRAPHS, "graphs")

enum specter_sum_kind {
#define X(id, key) SPECTER_SUM_##id,
    SPECTER_SUM_KINDS(X)
#undef X
        SPECTER_SUM_KIND_COUNT
};

#define SPECTER_HIST_MIN 8  /* below 512 ns */
#define SPECTER_HIST_MAX 39 /* from 550 s on */
#define SPECTER_HIST_BINS (SPECTER_HIST_MAX - SPECTER_HIST_MIN + 1)

/* X(id, selector key, selector value): the line's own name and its field table. */
#define SPECTER_RECORDS(X)        \
    X(INIT, event, "init")        \
    X(COMM, event, "comm")        \
    X(NCCL, type, "nccl")         \
    X(CUBLAS, type, "cublas")     \
    X(DEP, type, "dep")           \
    X(SYNC, type, "sync")         \
    X(COPY, type, "copy")         \
    X(UNTRACED, type, "untraced") \
    X(GRAPH, type, "graph")       \
    X(PLUGIN, type, "plugin")     \
    X(CLOCK, event, "clock")      \
    X(MARK, event, "mark")        \
    X(SAMPLE, event, "sample")    \
    X(DUMP, event, "dump")        \
    X(SHUTDOWN, event, "shutdown")

enum specter_record {
#define X(id, key, value) SPECTER_REC_##id,
    SPECTER_RECORDS(X)
#undef X
        SPECTER_REC_COUNT
};

/* Names, sizes and conventions that follow from the tables; defined in src/base/names.c, which the
 * tracer links too, and specter_kernel_class_of() in kernel_class.c. Lookups by name are exact, but
 * specter_comm_op_parse() ignores case, _ and - (all_reduce, AllReduce). A value out of range gives
 * "unknown"; a name not found gives the table's COUNT. */
const char *specter_comm_op_name(enum specter_comm_op op);
const char *specter_dtype_name(enum specter_dtype type);
const char *specter_redop_name(enum specter_redop op);
const char *specter_timing_name(enum specter_timing timing);
const char *specter_copy_name(enum specter_copy copy);
const char *specter_kernel_class_name(enum specter_kernel_class kernel_class);
const char *specter_mark_name(enum specter_mark mark);
enum specter_comm_op specter_comm_op_parse(const char *name, size_t len);
enum specter_dtype specter_dtype_parse(const char *name, size_t len);
enum specter_redop specter_redop_parse(const char *name, size_t len);
enum specter_timing specter_timing_parse(const char *name, size_t len);
enum specter_copy specter_copy_parse(const char *name, size_t len);
enum specter_kernel_class specter_kernel_class_parse(const char *name, size_t len);
enum specter_mark specter_mark_parse(const char *name, size_t len);
enum specter_dtype specter_dtype_from_nccl(int nccl);
enum specter_dtype specter_dtype_from_cuda(int cuda);
enum specter_redop specter_redop_from_nccl(int nccl);
unsigned specter_dtype_bits(enum specter_dtype type); /* 0 when unknown */

/* The class of a kernel by its name as the compiler made it, mangled or not; NULL: not known. */
enum specter_kernel_class specter_kernel_class_of(const char *name);

/* 1 for operations that have a `peer` (class P2P), 0 for collectives. */
int specter_comm_op_is_p2p(enum specter_comm_op op);

/* 1 for operations that have a reduction operator. */
int specter_comm_op_reduces(enum specter_comm_op op);

/* 1 for collectives in which each member needs data of every other one, so that none can finish
 * before the last has begun. */
int specter_comm_op_waits_for_all(enum specter_comm_op op);

/* Full buffer S in bytes by the nccl-tests convention, from the call's own count argument and the
 * communicator's size. 0 when the type is unknown or the product overflows. */
uint64_t specter_comm_op_bytes(enum specter_comm_op op, uint64_t count, enum specter_dtype type,
                               uint64_t nranks);

/* busbw = algbw * this factor, for n ranks (0 for n < 2 where the factor has (n-1)). */
double specter_comm_op_bus_factor(enum specter_comm_op op, uint64_t nranks);

#endif

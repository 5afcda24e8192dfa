/* SPDX-License-Identifier: MIT
 *
 * A run: the one in-memory form of a recorded job. Every reader produces it, every command consumes
 * it; no file is parsed twice.
 *
 * A run holds ranks; a rank holds what its device did (ops, sorted by start), what its host did to
 * order or await that work (sync calls, sorted by host time), and which kernels it launched that no
 * op stands for (launches, sorted by host time). Communicators are run-wide.
 *
 * A graph that was captured and launched: the captured ops (timing captured) say what is in it, and
 * have no times; each launch is one op of class OP_GRAPH, which has them. Both name the graph.
 *
 * Times are nanoseconds on one timeline a clock domain (a host): device times are already mapped to
 * the host clock. Where there is more than one domain, the others are mapped to the first as well
 * as what they have in common allows (struct domain); where one cannot be, run->clock_aligned is
 * false and nothing may be compared across domains.
 *
 *     struct run run;
 *     if (run_load(&run, "traces", NULL, &e) < 0) return e.code;
 *     for (size_t r = 0; r < run.nranks; r++)
 *         for (size_t i = 0; i < run.ranks[r].nops; i++) ...
 *     run_release(&run);
 *
 * To add a reader: see src/trace/reader.h.
 */
#ifndef SPECTER_TRACE_RUN_H
#define SPECTER_TRACE_RUN_H

#include "base/arena.h"
#include "base/err.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNKNOWN_NS INT64_MIN /* a time or duration that the trace does not hold */

/* The most that a trace may claim; more is damage. Times stay below 2^62 ns either way, so that
 * differences fit; no operation lasts 50 days. */
#define RUN_RANKS_MAX (1 << 20)
#define RUN_TIME_MAX ((int64_t)1 << 62)
#define RUN_DUR_MAX ((int64_t)1 << 52)

/* a + b; UNKNOWN_NS when either is unknown or the sum is not believable. */
static inline int64_t ns_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (a == UNKNOWN_NS || b == UNKNOWN_NS || __builtin_add_overflow(a, b, &sum) ||
        sum >= RUN_TIME_MAX || sum <= -RUN_TIME_MAX)
        return UNKNOWN_NS;
    return sum;
}

enum op_class {
    OP_COLL,   /* collective: every member of the communicator */
    OP_P2P,    /* Send, Recv */
    OP_GEMM,   /* GEMM with known shape */
    OP_KERNEL, /* other device computation */
    OP_MEMORY, /* copy or memset */
    OP_GRAPH,  /* launch of a graph: stands for the ops that were captured into it */
};

enum op_flag {
    OP_INPLACE = 1,
    OP_UPPER_BOUND = 2,   /* dur_ns includes launch work: the stream was idle */
    OP_BYTES_UNKNOWN = 4, /* bytes and count are 0 because the trace does not tell */
    OP_COMM_ONLY = 8,     /* OP_GRAPH: all that is in it is known, and communication (graph.h) */
    OP_COUNTED = 16,      /* stands for kernels that were counted, not timed (sim/scaling) */
    OP_IN_GRAPH = 32,     /* issued by the launch of a graph, with all others of that call */
};

/* The host's side of a copy. */
enum host_memory { HOST_MEMORY_UNKNOWN, HOST_MEMORY_PAGEABLE, HOST_MEMORY_PINNED };

/* The work that the call of a copy waited for (api_calls.h). */
enum copy_wait {
    COPY_NO_WAIT,
    COPY_WAITS,        /* the copy, and all that was before it on its stream */
    COPY_WAITS_BEFORE, /* what was before it on its stream */
};

struct op {
    int64_t start_ns, dur_ns;     /* UNKNOWN_NS when not timed or not finished. Times of the device
                                     only where op_timed() says so: with SPECTER_TIMING_HOST they
                                     are those of the enqueuing call */
    int64_t host_ns, host_end_ns; /* the call that issued it; UNKNOWN_NS */
    uint64_t bytes;               /* comm: full buffer S (specter/trace.h); memory: bytes moved */
    const char *name;             /* kernel or API name; interned, never NULL */
    const char *caller;           /* operation of the framework that issued it ("aten::mm");
                                     interned; "" none, or not known */
    uint64_t id;                  /* of the trace */
    int32_t device;
    int32_t stream; /* small integer of the process; -1 unknown */
    uint32_t tid;   /* issuing thread: index into the rank's threads */
    int32_t graph;  /* captured into, or launch of; number in the rank; -1 none, or not seen */
    uint8_t class;  /* enum op_class */
    uint8_t dtype;  /* enum specter_dtype; SPECTER_DTYPE_UNKNOWN */
    uint8_t timing; /* enum specter_timing */
    uint8_t flags;  /* enum op_flag */
    union {
        struct {
            uint64_t count;
            int64_t seq; /* collective: position in its communicator; -1 unknown */
            int64_t p2p_seq;
            int32_t comm;  /* index into run->comms; -1 unknown */
            int32_t group; /* ops of one rank with equal group were launched together; -1 none */
            int32_t peer;  /* p2p: comm rank; rooted collective: root; else -1 */
            uint8_t op; /* enum specter_comm_op; SPECTER_COMM_OP_COUNT: the trace does not tell */
            uint8_t redop; /* enum specter_redop */
        } coll;            /* OP_COLL, OP_P2P */
        struct {
            uint32_t m, n, k, batch;
            uint8_t dtype_b, dtype_c, compute; /* enum specter_dtype */
            char trans[3];                     /* "NT"; "" unknown */
            int64_t rest_ns;                   /* as of kernel */
        } gemm;                                /* OP_GEMM; dtype is that of A */
        struct {
            double flops;    /* of the operator that launched it: a convolution, attention, grouped
                                GEMMs; 0 unknown, or told by another kernel of the operator */
            int64_t rest_ns; /* the time of the operator's other kernels that compute with it */
            uint8_t compute; /* enum specter_dtype */
        } kernel;            /* OP_KERNEL; dtype is that of the operator's inputs */
        struct {
            uint8_t host;    /* enum host_memory */
            uint8_t by;      /* enum api_call that issued it; API_OTHER unknown */
            uint8_t wait;    /* enum copy_wait: by host_waits_find() */
            int64_t wait_ns; /* of the call, up to the end of what it waited for; UNKNOWN_NS: it
                                waited, and how long is not known */
        } copy;              /* OP_MEMORY */
        struct {
            uint64_t launch;   /* its number among the launches of the graph, from 0 */
            uint64_t op_count; /* ops in the graph, as the recorder counted them */
        } graph_launch;        /* OP_GRAPH */
    };
};

/* Returns whether the operation is a collective or a message. */
static inline bool op_is_comm(const struct op *op)
{
    return op->class == OP_COLL || op->class == OP_P2P;
}

/* Returns whether a clock measured the work itself, on the device or around a synchronised call. */
static inline bool op_timed(const struct op *op)
{
    return op->dur_ns != UNKNOWN_NS &&
           (op->timing == SPECTER_TIMING_DEVICE || op->timing == SPECTER_TIMING_SYNC ||
            op->timing == SPECTER_TIMING_GRAPH);
}

/* Floating-point operations of a GEMM, or of another operator that the kernel stands for; 0 not
 * known. Their time is dur_ns and op_rest_ns(): that of the kernel, and of those that do its work
 * with it (the sum of a split GEMM). */
static inline double op_flops(const struct op *op)
{
    if (op->class == OP_GEMM)
        return 2.0 * op->gemm.m * op->gemm.n * (double)op->gemm.k *
               (op->gemm.batch > 0 ? op->gemm.batch : 1);
    return op->class == OP_KERNEL ? op->kernel.flops : 0;
}

static inline int64_t op_rest_ns(const struct op *op)
{
    return op->class == OP_GEMM     ? op->gemm.rest_ns
           : op->class == OP_KERNEL ? op->kernel.rest_ns
                                    : 0;
}

/* Returns whether the call that issued it waited for the device. */
static inline bool op_call_waits(const struct op *op)
{
    return op->class == OP_MEMORY && op->copy.wait != COPY_NO_WAIT;
}

/* When it ended; only where start_ns and dur_ns are known. */
static inline int64_t op_end_ns(const struct op *op)
{
    return op->start_ns + op->dur_ns;
}

/* Start and end of an operation on its device; false when the trace does not hold them: enqueue
 * time only, captured into a graph, launched out of sight, not finished, or damaged. */
bool op_device_time(const struct op *op, int64_t *start_ns, int64_t *end_ns);

/* The time that it took on its device, also where the trace does not hold when; false as above. */
bool op_device_duration(const struct op *op, int64_t *dur_ns);

/* When the host called for it; where that is not known, when it started; UNKNOWN_NS. */
static inline int64_t op_issued_ns(const struct op *op)
{
    return op->host_ns != UNKNOWN_NS ? op->host_ns : op->start_ns;
}

/* Returns whether `op` is a further message of the kernel that `before`, the operation before it,
 * stands for. Where kernels were traced and not calls, each message of a kernel is an operation,
 * with its times. */
static inline bool op_same_kernel(const struct op *before, const struct op *op)
{
    return before->class == OP_P2P && op->class == OP_P2P && op->coll.group >= 0 &&
           before->coll.group == op->coll.group && before->id == op->id &&
           before->start_ns == op->start_ns && before->name == op->name;
}

/* Returns whether both were issued by one launch of a graph. */
static inline bool op_same_graph_launch(const struct op *a, const struct op *b)
{
    return (a->flags & b->flags & OP_IN_GRAPH) != 0 && a->id == b->id && a->tid == b->tid &&
           a->host_ns == b->host_ns;
}

enum sync_call_kind {
    SYNC_CALL_RECORD, /* event recorded on stream */
    SYNC_CALL_WAIT,   /* stream waits for event */
    SYNC_CALL_STREAM, /* host blocked until stream was empty */
    SYNC_CALL_EVENT,
    SYNC_CALL_DEVICE,
    SYNC_CALL_ALLOC, /* memory allocated, and freed: both may wait for the device */
    SYNC_CALL_FREE,
};

struct sync_call {
    int64_t host_ns, host_end_ns;
    uint8_t kind; /* enum sync_call_kind */
    uint32_t tid;
    int32_t device;
    int32_t stream;  /* -1: not applicable or the trace does not tell */
    int64_t event;   /* -1 likewise */
    int64_t wait_ns; /* SYNC_CALL_ALLOC, SYNC_CALL_FREE: how long it waited for the device
                        (api_calls.h) */
};

/* Returns whether the call waited for the device. */
static inline bool sync_call_waits(const struct sync_call *sync)
{
    bool memory = sync->kind == SYNC_CALL_ALLOC || sync->kind == SYNC_CALL_FREE;
    return memory ? sync->wait_ns > 0 : sync->kind >= SYNC_CALL_STREAM;
}

/* Kernels that one thread launched on a stream and that no op stands for. They have no device
 * times. */
struct launches {
    int64_t host_ns, host_end_ns; /* the first launch, and the end of the last */
    int64_t max_gap_ns;           /* the longest time between two of them; UNKNOWN_NS */
    uint64_t count;
    uint64_t classes[SPECTER_KERNEL_CLASS_COUNT];
    uint32_t tid;
    int32_t device, stream; /* stream -1 unknown */
    int32_t graph;          /* captured into this one: not launched then; -1 */
};

/* Details of an operation from NCCL's profiler interface. */
struct comm_detail {
    uint32_t op;              /* index into the rank's ops */
    uint32_t channels;        /* 0 unknown */
    int64_t kernel_ns;        /* first start to last end of its channels' kernels; UNKNOWN_NS */
    const char *algo, *proto; /* NCCL's words; "" unknown */
    /* how it is found, before run_finish() */
    int64_t seq; /* p2p_seq of a message */
    int32_t comm, peer;
    uint32_t member; /* into the file's memberships, for devices_split(); UINT32_MAX unknown */
    uint8_t comm_op; /* enum specter_comm_op */
};

/* A moment or a range that the program named; training steps are steps. */
struct mark {
    int64_t start_ns, end_ns; /* equal for a moment; a range that was left open lasts
                                 until the last moment of the trace */
    const char *name;
    uint32_t tid;
};

/* The kinds of records that a trace may hold (bits); one that is missing must not be read as absent
 * work. */
enum coverage {
    COVER_NCCL = 1,
    COVER_GEMM = 2,    /* GEMM shapes */
    COVER_DEPS = 4,    /* events between streams, host synchronisations */
    COVER_KERNELS = 8, /* all device work as ops with times, not only NCCL and cuBLAS */
    COVER_MEMORY = 16,
    COVER_LAUNCHES = 32, /* launches of other kernels are counted, with or without their times */
    COVER_GRAPHS = 64,
    COVER_MARKS = 128,
    COVER_PLUGIN = 256, /* NCCL's profiler interface */
};

/* One training step, from a marker or the profiler. */
struct step {
    int64_t start_ns, end_ns;
    const char *name;
    uint32_t tid; /* the thread that said so; UINT32_MAX unknown */
    bool cut;     /* the recording ends in it */
};

/* This rank is comm rank `rank` of a communicator, on that device (-1 unknown). */
struct membership {
    int32_t comm, rank, device;
    int64_t called;     /* the highest number of a collective that the trace says it has called,
                           where no record of one does; -1: it does not say */
    int64_t timeout_ns; /* after which the program gives up what has not finished; UNKNOWN_NS */
};

/* A setting that the program ran with: a variable of its environment, or the version of a library
 * ("NCCL", "2.28.9"). */
struct setting {
    const char *name, *value; /* interned */
};

/* The setting that says which file of NCCL was loaded. */
#define SETTING_NCCL_FILE "NCCL file"

/* One GPU with what was asked of it. Of a process that drives several, each is a rank (devices.c):
 * they have host, file and clock in common, and number threads, streams, events, groups and graphs
 * alike. */
struct rank {
    int rank;         /* global rank; -1 unknown (only until run_finish) */
    int process;      /* equal for the ranks of one process; -1: it has no other */
    int32_t device;   /* of such a rank: which device it is; else -1 */
    bool quiet;       /* nothing was asked of it, but of others of its process something */
    int domain;       /* clock domain (host) */
    const char *host; /* "" unknown */
    const char *gpu;  /* device name as the driver says it; "" unknown */
    const char *file; /* where it came from */
    int64_t pid;
    unsigned coverage;        /* enum coverage */
    bool complete;            /* a shutdown record, or a format that has none */
    bool torn;                /* the last line was cut in writing */
    int host_gpus;            /* GPUs in this rank's machine; 0 unknown */
    int64_t mono_ns, real_ns; /* one moment, on the clock of the times and on the wall clock;
                                 UNKNOWN_NS: the trace has a zero of its own, or no date */
    bool host_zero;           /* times have a zero of the host's own, of an unknown date: its
                                 ranks share a clock; real_ns and mono_ns are 0 */
    int64_t end_ns;           /* the last moment on the host that the trace tells of; UNKNOWN_NS */
    int64_t dump_ns;          /* the last moment at which all that was under way was written down,
                                 however young; UNKNOWN_NS: none */
    bool undated;             /* nothing says when the trace was written: what is not finished in
                                 it may have been so for longer than its times show */
    uint64_t dropped;         /* operations the recorder says it lost; of a process with
                                 several ranks: at the first of them, as are bad_lines */
    uint64_t bad_lines;       /* lines or events the reader could not use */
    uint64_t gemm_sample;     /* at times only one GEMM in so many is recorded or timed; else 1 */
    uint32_t nthreads;
    int64_t *thread_ids; /* owned [nthreads]: as the trace has them; NULL unknown */
    struct op *ops;      /* owned, by start_ns (unknown starts by host_ns) */
    size_t nops, cap_ops;
    struct sync_call *sync_calls; /* owned, by host_ns */
    size_t nsync_calls, cap_sync_calls;
    struct step *steps; /* owned, by start_ns */
    size_t nsteps, cap_steps;
    struct launches *launches; /* owned, by host_ns */
    size_t nlaunches, cap_launches;
    struct mark *marks; /* owned, by start_ns */
    size_t nmarks, cap_marks;
    struct comm_detail *details; /* owned, by op; see rank_detail() */
    size_t ndetails, cap_details;
    struct membership *in; /* owned */
    size_t nin, cap_in;
    struct setting *settings; /* owned; of a process with several ranks: at the first of them */
    size_t nsettings, cap_settings;
    struct anchor *anchors; /* owned; calls of which an execution trace may tell more (et.h) */
    size_t nanchors, cap_anchors;
};

struct comm {
    const char *id;   /* equal on all members */
    const char *name; /* "" unknown */
    int size;         /* 0 unknown */
    int *ranks;       /* [size] global rank of each comm rank; -1 unknown; in the run's tables */
    int parent;       /* index into run->comms; -1 */
    int nodes;        /* -1 unknown */
};

/* A host's clock, and how its times were mapped to those of the first domain (align.h):
 * mapped = t + offset_ns + drift * (t - at_ns), in real numbers. */
struct domain {
    const char *host;  /* "" unknown */
    bool aligned;      /* to the first domain, which is aligned to itself; else by wall clock, if at
                          all */
    int64_t offset_ns; /* 0 for the first */
    double drift;      /* 20 ppm is 20e-6; 0 also where it is too small to be told from 0 */
    int64_t at_ns;     /* on its own clock */
    double offset_err_ns, drift_err; /* standard errors; 0 for the first, NAN unknown */
    uint64_t anchors; /* collectives whose ends say so; where it is not aligned, those in common */
    double residual_ns; /* median distance of their ends from the mapping; NAN unknown */
    double error_ns;    /* how far off a mapped time may be; NAN unknown */
};

/* A pause of the recorder. It is cut out of all times, so that the work after it begins at once
 * (rank_join.h). A duration from before a pause to after it, as from the end of one step to the end
 * of the next, says nothing. */
struct pause {
    int64_t at_ns, dur_ns; /* at_ns: on the clock of the first domain */
};

enum note_kind {
    NOTE_PLAIN,
    NOTE_GAPS, /* what traces do not tell of their work: counted anew, these give way */
};

/* Something the user must know about how the run was read, in one line. */
struct note {
    const char *text;
    bool loss;    /* part of the input was unusable: the command's status becomes ERR_PARTIAL */
    uint8_t kind; /* enum note_kind */
};

struct run {
    struct arena arena;  /* owns every string of the run, */
    struct arena tables; /* and this the communicators' tables of ranks */
    struct intern names;
    const char *id;      /* run id; "" when the format has none */
    const char *source;  /* what was read: path */
    const char *format;  /* "specter", "kineto" */
    const char *summary; /* what a format says by itself where it holds no operations, in sentences;
                            "" nothing */
    unsigned unnamed_hangs; /* operations in which ranks wait for others, of which a snapshot does
                               not tell which ranks these are */
    bool name_nodes;        /* a user can look at the hosts: sentences name that of a rank */
    int world_size;         /* as recorded; else the number of ranks */
    struct rank *ranks;     /* owned, by rank */
    size_t nranks, cap_ranks;
    struct comm *comms; /* owned */
    size_t ncomms, cap_comms;
    uint32_t *comm_slots; /* owned: where run_comm finds an id */
    size_t ncomm_slots;
    uint64_t comm_members; /* sum of the communicators' sizes, which is bounded */
    struct job *job;       /* what a scheduler says of it (job.h); owned; NULL nothing */
    const char *job_note;  /* the same in a sentence; "" nothing */
    struct note *notes;    /* owned */
    size_t nnotes, cap_notes;
    struct pause *pauses; /* [npauses] by time; owned by the arena */
    size_t npauses;
    struct domain *domains; /* [ndomains]; owned by the arena */
    int ndomains;
    bool clock_aligned;           /* times of all ranks may be compared, */
    double clock_residual_ns;     /* to so much: the largest error_ns; 0 with one; NAN unknown */
    const struct op_taker *taker; /* while it is read: see run_hand_over(); NULL */
};

struct load_share;
struct load_shared;

/* Options of run_load(); all zero: the defaults. */
struct load_opts {
    const char *run_id; /* NULL: the newest */
    int threads;        /* that read; 0: as many as there are processors. The run is the same */

    /* Called about ten times a second by the thread that called run_load(): bytes of the files that
     * are read, of how many. NULL: not wanted. */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;

    /* Takes the operations of the ranks in portions, as they are read, each valid during the call
     * and forgotten after it: memory does not grow with the file. By one thread at a time, the
     * ranks of several files in any order. The run then holds ranks, communicators and notes, and
     * nothing that a rank did. The format's own traces come as they stand: their times are not
     * mapped (start_ns is that of the device's clock, host_ns since init.mono_ns), an operation
     * that was pending can come again with its id, and a rank is the process that wrote the file.
     * Of other formats each file comes when it was read whole. NULL: not wanted. */
    void (*take)(void *arg, const struct rank *rank, const struct op *ops, size_t n);
    void *take_arg;

    /* Reading by several processes (share.h): this one reads its share of the files, gives it away,
     * and leaves the run empty; or others have read all files, and their results are taken. NULL:
     * neither. */
    const struct load_share *share;
    struct load_shared *shared;
};

/* Reads a folder, file or archive of any known format. 0, or -1 with e filled (ERR_INPUT): no such
 * path, nothing usable in it. What was lost on the way is in run->notes. opts may be NULL. The run
 * must be released in either case. */
int run_load(struct run *run, const char *path, const struct load_opts *opts, struct err *e);
void run_release(struct run *run);

/* Returns the operations of all ranks. */
size_t run_count_ops(const struct run *run);

struct op_taker {
    void (*take)(void *arg, const struct rank *rank, const struct op *ops, size_t n);
    void *arg;
};

/* For readers. Pointers to ranks, ops and so on hold until the next one of their kind is added. */
void run_init(struct run *run);
struct rank *run_add_rank(struct run *run);

/* Finds or adds the communicator and returns its index; `size` 0: unknown (a later call may say
 * it). -1 when the size is not believable (over RUN_RANKS_MAX, or all sizes together too much). */
int run_comm(struct run *run, const char *id, size_t len, int64_t size);

struct op *rank_add_op(struct rank *rank);
struct sync_call *rank_add_sync_call(struct rank *rank);
struct step *rank_add_step(struct rank *rank);
struct launches *rank_add_launches(struct rank *rank);
struct mark *rank_add_mark(struct rank *rank);
struct comm_detail *rank_add_detail(struct rank *rank);
void rank_add_setting(struct rank *rank, const char *name, const char *value); /* interned */

/* The oldest version of NCCL that a rank says it ran with, as 22809; 0: none says it. */
int run_nccl_version(const struct run *run);
void rank_add_member(struct rank *rank, int comm, int comm_rank, int32_t device);
void rank_clear(struct rank *rank); /* frees what it owns */
void rank_fit(struct rank *rank);   /* gives back room that it does not use */

/* Hands over the rank's operations where they are taken as they are read (load_opts.take), and
 * empties its lists; else does nothing. */
void run_hand_over(const struct run *run, struct rank *rank);

void rank_shift(struct rank *rank, int64_t by_ns); /* moves every time */
void rank_sort(struct rank *rank);                 /* orders all lists, as run_finish does */

/* One line, said once however often it is noted; control bytes of quoted trace text are made
 * harmless here. */
void run_note(struct run *run, bool loss, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a kind of its own, and all of that kind away. */
void run_note_of(struct run *run, enum note_kind kind, bool loss, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void run_drop_notes(struct run *run, enum note_kind kind);

/* Sorts, numbers and checks what the readers left; called once by run_load. Notes what is missing:
 * ranks, shutdown records, dropped operations. Afterwards ranks have distinct numbers, ops, sync
 * calls and steps are in order, and every communicator knows its members as far as the trace does.
 */
void run_finish(struct run *run);

/* Index into run->ranks, which run_finish() sorted, of a global rank; -1: it has no trace. */
int rank_index(const struct run *run, int rank);

/* Returns whether times of the ranks may be compared. a, b: indices into run->ranks. */
static inline bool ranks_comparable(const struct run *run, size_t a, size_t b)
{
    return run->clock_aligned || run->ranks[a].domain == run->ranks[b].domain;
}

/* Returns the rank's membership in the communicator; NULL: no member. */
const struct membership *rank_member(const struct rank *rank, int comm);

/* Returns the details of ops[op] from NCCL's profiler interface; NULL when there are none. */
const struct comm_detail *rank_detail(const struct rank *rank, size_t op);

/* A call of a rank's host, and which of its lists has it. */
enum host_call_kind { HOST_CALL_OP, HOST_CALL_SYNC, HOST_CALL_LAUNCHES, HOST_CALL_KINDS };

struct rank_call {
    int64_t t_ns;   /* op_issued_ns() of an operation */
    uint32_t index; /* into ops, sync_calls or launches */
    uint8_t kind;   /* enum host_call_kind */
    uint8_t before; /* how many kinds come before this one at equal times */
};

/* The calls of a known time, in its order; at equal times in the `order` of kinds, then in that of
 * the lists. The caller frees them. */
struct rank_call *rank_calls(const struct rank *rank,
                             const enum host_call_kind order[HOST_CALL_KINDS], size_t *n);

/* True when any note is a loss. */
bool run_partial(const struct run *run);

/* Returns whether the run holds one rank of several, which was profiled alone: that is no loss. */
bool run_alone(const struct run *run);

/* The number of ranks that recorded an operation, which means over ranks are of: traces of the
 * others hold no more than which rank they are of (capture --ranks). Where none did, all. */
size_t run_recorded_ranks(const struct run *run);

#endif

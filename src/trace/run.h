/* SPDX-License-Identifier: MIT
 *
 * A run: the one in-memory form of a recorded job. Every reader produces it, every command consumes
 * it; nobody parses twice.
 *
 * A run holds ranks; a rank holds what its device did (ops, sorted by start) and what its host did
 * to order or await that work (acts, sorted by host time). Communicators are run-wide.
 *
 * Times are nanoseconds on one timeline a clock domain (a host): device times are already mapped to
 * the host clock. Domains share a zero only as well as their wall clocks agree; with more than one
 * domain run->clock_aligned is false and nothing may be compared across domains.
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

enum op_class {
    OP_COLL,   /* collective: every member of the communicator */
    OP_P2P,    /* Send, Recv */
    OP_GEMM,   /* matrix product with known shape */
    OP_KERNEL, /* other device computation */
    OP_MEMORY, /* copy or memset */
};

enum op_flag {
    OP_INPLACE = 1,
    OP_UPPER_BOUND = 2,   /* dur_ns includes launch work: the stream was idle */
    OP_BYTES_UNKNOWN = 4, /* bytes and count are 0 because the trace does not tell */
};

struct op {
    int64_t start_ns, dur_ns;     /* on the device; UNKNOWN_NS when not timed or not finished */
    int64_t host_ns, host_end_ns; /* the call that issued it; UNKNOWN_NS */
    uint64_t bytes;               /* comm: full buffer S (specter/trace.h); memory: bytes moved */
    const char *name;             /* kernel or API name; interned, never NULL */
    uint64_t id;                  /* of the trace */
    int32_t device;
    int32_t stream;  /* small integer of the process; -1 unknown */
    uint32_t tid;    /* issuing thread: index into the rank's threads */
    uint8_t class;   /* enum op_class */
    uint8_t dtype;   /* enum specter_dtype; SPECTER_DTYPE_UNKNOWN */
    uint8_t timing;  /* enum specter_timing */
    uint8_t flags;   /* enum op_flag */
    union {
        struct {
            uint64_t count;
            int64_t seq;   /* collective: position in its communicator; -1 unknown */
            int64_t p2p_seq;
            int32_t comm;  /* index into run->comms; -1 unknown */
            int32_t group; /* ops of one rank with equal group were launched together; -1 none */
            int32_t peer;  /* p2p: comm rank; rooted collective: root; else -1 */
            uint8_t op;    /* enum specter_comm_op */
            uint8_t redop; /* enum specter_redop */
        } coll;            /* OP_COLL, OP_P2P */
        struct {
            uint32_t m, n, k, batch;
            uint8_t dtype_b, dtype_c, compute; /* enum specter_dtype */
            char trans[3];                     /* "NT"; "" unknown */
        } gemm;                                /* OP_GEMM; dtype is that of A */
    };
};

enum act_kind {
    ACT_RECORD,      /* event recorded on stream */
    ACT_WAIT,        /* stream waits for event */
    ACT_SYNC_STREAM, /* host blocked until stream was empty */
    ACT_SYNC_EVENT,
    ACT_SYNC_DEVICE,
};

struct act {
    int64_t host_ns, host_end_ns;
    uint8_t kind;   /* enum act_kind */
    uint32_t tid;
    int32_t device;
    int32_t stream; /* -1: not applicable or the trace does not tell */
    int64_t event;  /* -1 likewise */
};

/* What a trace looked at (bits); what is missing must not be read as absent. */
enum coverage {
    COVER_NCCL = 1,
    COVER_GEMM = 2,     /* GEMM shapes */
    COVER_DEPS = 4,     /* events between streams, host synchronisations */
    COVER_LAUNCHES = 8, /* all device work, not only NCCL and cuBLAS */
    COVER_MEMORY = 16,
};

/* One training step, from a marker or the profiler. */
struct step {
    int64_t start_ns, end_ns;
    const char *name;
};

struct rank {
    int rank;           /* global rank */
    int domain;         /* clock domain (host) */
    const char *host;   /* "" unknown */
    const char *gpu;    /* device name as the driver says it; "" unknown */
    const char *file;   /* where it came from */
    int64_t pid;
    unsigned coverage;  /* enum coverage */
    bool complete;      /* a shutdown record, or a format that has none */
    uint64_t dropped;   /* operations the recorder says it lost */
    uint64_t bad_lines; /* lines or events the reader could not use */
    uint32_t nthreads;
    struct op *ops; /* owned, by start_ns (unknown starts by host_ns) */
    size_t nops, cap_ops;
    struct act *acts; /* owned, by host_ns */
    size_t nacts, cap_acts;
    struct step *steps; /* owned, by start_ns */
    size_t nsteps, cap_steps;
};

struct comm {
    const char *id; /* equal on all members */
    const char *name;
    int size;
    int *ranks;  /* [size] global rank of each comm rank; -1 unknown */
    int parent;  /* index into run->comms; -1 */
    int nodes;   /* -1 unknown */
};

/* Something the user must know about how the run was read, in one line. */
struct note {
    const char *text;
    bool loss; /* part of the input was unusable: the command's status becomes ERR_PARTIAL */
};

struct run {
    struct arena arena;   /* owns every string of the run */
    struct intern names;
    const char *id;       /* run id; "" when the format has none */
    const char *source;   /* what was read: path */
    const char *format;   /* "specter", "kineto" */
    int world_size;       /* as recorded; else the number of ranks */
    struct rank *ranks;   /* owned, by rank */
    size_t nranks, cap_ranks;
    struct comm *comms; /* owned */
    size_t ncomms, cap_comms;
    struct note *notes; /* owned */
    size_t nnotes, cap_notes;
    int ndomains;
    bool clock_aligned; /* times of all ranks may be compared */
};

struct load_opts {
    const char *run_id; /* NULL: the newest */
};

/* Reads a folder, file or archive of any known format. 0, or -1 with e filled (ERR_INPUT): no such
 * path, nothing usable in it. What was lost on the way is in run->notes. opts may be NULL. The run
 * must be released in either case. */
int run_load(struct run *run, const char *path, const struct load_opts *opts, struct err *e);
void run_release(struct run *run);

/* For readers. */
void run_init(struct run *run);
struct rank *run_add_rank(struct run *run);
int run_comm(struct run *run, const char *id, size_t len, int size); /* finds or adds; index */
struct op *rank_add_op(struct rank *rank);
struct act *rank_add_act(struct rank *rank);
struct step *rank_add_step(struct rank *rank);
void run_note(struct run *run, bool loss, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Sorts, numbers and checks what the readers left; called once by run_load. */
void run_finish(struct run *run);

/* True when any note is a loss. */
bool run_partial(const struct run *run);

#endif

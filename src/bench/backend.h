/* SPDX-License-Identifier: MIT
 *
 * A library of collectives as benchmarks use it: a table of functions over a communicator, its
 * buffers, and a clock. NCCL and what has its ABI are behind backend_nccl.c; gloo and MPI are
 * modules beside the binary, of the same table (bench_module).
 *
 * Functions return 0, or -1 with e filled (ERR_INPUT). Order: open, then anything, then close.
 */
#ifndef SPECTER_BENCH_BACKEND_H
#define SPECTER_BENCH_BACKEND_H

#include "bench/ranks.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_comm; /* a backend's own */
struct bench_gpu;

/* ---- calls that may not return ---- */

/* Calls of a library that may not return, because another rank has ended or hangs. A thread of each
 * process looks after them: where a call takes long, it answers rank 0 in this rank's place, learns
 * of ranks that have ended, and after the timeout has rank 0 ask who is behind. Nothing ends the
 * call itself, so the process ends then (`lost`).
 *
 *     bench_calls_begin(calls, "ncclCommInitRank");
 *     error = ncclCommInitRank(...);
 *     bench_calls_end(calls);
 *
 * Between the two the process makes no exchange with other ranks. A wait that asks
 * bench_ranks_check() itself needs none of this. */
struct bench_calls;

/* `lost` is called by the thread, with what happened, and must not return: the library is not to be
 * called again. NULL with e filled: no thread. Owned. */
struct bench_calls *bench_calls_start(struct bench_ranks *ranks, double timeout_s,
                                      void (*lost)(void *arg, const struct err *e), void *arg,
                                      struct err *e);
void bench_calls_stop(struct bench_calls *calls); /* NULL is fine */

/* call: its name, which the others are told, cut to 39 bytes. */
void bench_calls_begin(struct bench_calls *calls, const char *call);
void bench_calls_end(struct bench_calls *calls);

/* ---- a library ---- */

/* Members of a communicator: every one of `size` processes opens it with the same `ranks`, which is
 * asked for the exchange of ids; the ones that are not in it give member -1 and get no communicator
 * (*comm is NULL). */
struct bench_members {
    struct bench_ranks *ranks; /* borrowed */
    int world, rank;           /* of the job */
    int size, member;          /* of the communicator; -1: not in it */
    int neighbours;            /* of the job's processes, those on this machine, with this one */
    int device;                /* the GPU's index among those that the process sees */
    const char *lib;           /* the library to open; NULL: by its usual names */
    double timeout_s;          /* to wait for another rank, in every call */
    int channels;              /* of the communicator, exactly; 0: as the library has it */
    bool trial;                /* one that is refused does not end the job */
    double call_s;             /* after so long a wait() fails on this rank alone; 0: never */
    struct bench_calls *calls; /* borrowed; around every call that may not return */
};

/* A library's identity, for provenance: texts of the communicator, valid until it is closed. */
struct bench_identity {
    const char *library; /* "NCCL 2.28.9" */
    const char *device;  /* "NVIDIA H100 80GB HBM3", "CPU" */
    int driver, runtime; /* versions of a GPU's, as 13000; 0: none */
};

/* One call. Counts are the call's own (specter_comm_op_bytes); SPECTER_SEND is nccl-tests'
 * sendrecv: every rank sends to the next while it receives from the one before. */
struct bench_call {
    enum specter_comm_op op;
    enum specter_dtype dtype;
    enum specter_redop redop;
    int root;
    uint64_t count;
    const void *send;
    void *receive; /* may be send's buffer, or hold it, as NCCL defines it in place */
};

/* One side of a message. */
struct bench_message {
    bool sends; /* else it receives */
    int peer;   /* a member */
    void *buffer;
    size_t bytes;
};

struct bench_backend {
    const char *name;     /* "nccl" */
    const char *launcher; /* that must start the processes: "mpirun"; NULL: any, or none */
    bool enqueues; /* calls return before they are done: the host can be ahead of the device */

    /* Asked before anything is opened: 0, or -1 with e filled (ERR_USAGE) where the library lacks
     * the type, the reduction or the operation. */
    int (*supports)(enum specter_comm_op op, enum specter_dtype type, enum specter_redop redop,
                    struct err *e);

    int (*open)(const struct bench_members *m, struct bench_comm **comm, struct err *e);
    void (*close)(struct bench_comm *comm);
    /* As close, of a communicator whose calls do not end on some rank; all ranks do so. NULL: the
     * library cannot. */
    void (*abandon)(struct bench_comm *comm);
    void (*identify)(const struct bench_comm *comm, struct bench_identity *out);

    /* Buffers that the library can use; bytes to and from them when all earlier calls are over. */
    int (*alloc)(struct bench_comm *comm, size_t bytes, void **buffer, struct err *e);
    void (*release)(struct bench_comm *comm, void *buffer);
    int (*free_bytes)(struct bench_comm *comm, size_t *bytes, struct err *e);
    int (*put)(struct bench_comm *comm, void *to, const void *from, size_t bytes, struct err *e);
    int (*get)(struct bench_comm *comm, void *to, const void *from, size_t bytes, struct err *e);
    int (*set)(struct bench_comm *comm, void *to, int value, size_t bytes, struct err *e);
    /* Between two buffers, as a call is; NULL: the backend has no messages. */
    int (*copy)(struct bench_comm *comm, void *to, const void *from, size_t bytes, struct err *e);

    /* Enqueues it, or does it. */
    int (*call)(struct bench_comm *comm, const struct bench_call *call, struct err *e);

    /* Messages of bytes, as a call is: all of them at once, so that none waits for another. NULL:
     * the backend has none. */
    int (*messages)(struct bench_comm *comm, const struct bench_message *list, size_t n,
                    struct err *e);

    /* Takes the time after all earlier calls, as mark `i`; and microseconds between two marks of
     * which wait() has returned. */
    int (*mark)(struct bench_comm *comm, size_t i, struct err *e);
    double (*us)(struct bench_comm *comm, size_t from, size_t to);

    /* This host's clock in ns since 1970, and a pause of at most so many seconds, which a signal
     * ends. NULL: the backend has no clock of a device beside the host's. */
    int64_t (*host_ns)(const struct bench_comm *comm);
    void (*pause)(const struct bench_comm *comm, double seconds);

    /* The GPU whose stream the calls are put on; NULL: the backend has none. */
    struct bench_gpu *(*gpu)(struct bench_comm *comm);

    /* Until all calls of this rank are over, or a rank of `ranks` has failed or hangs: none of the
     * marks after calls was passed for timeout_s. */
    int (*wait)(struct bench_comm *comm, struct err *e);
};

/* Returns whether the module of that name was built, and where it is. */
bool bench_module_find(const char *name, char *path, size_t size);

/* By name ("nccl", "rccl", "ncclx", "gloo", "mpi"). Modules are looked for beside the program, as
 * libspecter.so is. NULL with e filled: unknown, or the module was not built; the message names
 * what is there. */
const struct bench_backend *bench_backend_find(const char *name, struct err *e);

/* NCCL, and those of its interface. */
#define BENCH_BACKENDS_NCCL 3
extern const struct bench_backend bench_backends_nccl[BENCH_BACKENDS_NCCL];

/* The symbol that a module exports. */
#define BENCH_MODULE "specter_bench_backend"
typedef const struct bench_backend *bench_module(void);

#endif

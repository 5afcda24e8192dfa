/* SPDX-License-Identifier: MIT
 *
 * One export of Nsight Systems while it is read. Each table is scanned once, in this order:
 *
 *   nsys_work.c   kernels, copies, graph launches: they say which processes and devices there are
 *   nsys_host.c   calls that launched that work, synchronisations, events
 *   nsys_nvtx.c   ranges around those calls, marks, steps, NCCL's own ranges
 *   nsys_nccl.c   what a payload of NCCL's ranges says
 *   nsys_gemm.c   operators whose arithmetic is known, and their kernels
 *
 * Then nsys_around.c finds what is around each launch, nsys_comm.c what each communication kernel
 * is, and nsys_order.c, behind the last file, which collectives are the same.
 *
 * Correlation ids are unique in a process only, so that everything is kept by process. One process
 * with one device is a rank.
 */
#ifndef SPECTER_TRACE_NSYS_H
#define SPECTER_TRACE_NSYS_H

#include "base/buf.h"
#include "trace/api_calls.h"
#include "base/idmap.h"
#include "trace/memo.h"
#include "trace/nsys_db.h"
#include "trace/product.h"
#include "trace/run.h"

#define NSYS_RANKS_MAX 1024       /* of a file; more is damage */
#define NSYS_MARKS_MAX (1u << 20) /* of a process */

#define NSYS_LIST(type, name) \
    struct {                  \
        type *list;           \
        size_t count, cap;    \
    } name

/* A host call that put work on a device, and what is around it. */
struct nsys_launch {
    int64_t start_ns, end_ns; /* UNKNOWN_NS: the file does not hold the call */
    uint32_t tid;
    int32_t annotated;  /* enum specter_comm_op by PyTorch's annotation; COUNT none */
    int32_t group;      /* the NCCL calls that it carries out; -1 */
    int32_t product;    /* of the innermost operator that is one (product.h); -1 */
    const char *caller; /* innermost operation of the framework; "" */
    enum api_call call;
};

struct nsys_sync_call {
    struct sync_call sync;
    int64_t context; /* -1 */
};

/* What one call of NCCL says; -1 and UNKNOWN where it does not. */
struct nsys_call {
    uint64_t comm; /* NCCL's hash of the communicator */
    bool has_comm;
    uint8_t op, redop;
    int64_t bytes;                /* of the call's own count argument */
    int64_t peer;                 /* or root */
    int64_t nranks, rank, device; /* calls that make or end a communicator */
};

enum nsys_range_kind {
    NSYS_FRAMEWORK,   /* an operation of PyTorch */
    NSYS_ANNOTATION,  /* nccl:all_reduce, PyTorch's name for a collective */
    NSYS_CALL,        /* ncclAllReduce */
    NSYS_GROUP_BEGIN, /* ncclGroupStart */
    NSYS_GROUP_END,
};

struct nsys_range {
    int64_t start_ns, end_ns;
    const char *name; /* interned */
    int32_t detail;   /* NSYS_CALL: index of the call; NSYS_ANNOTATION: enum specter_comm_op;
                         NSYS_FRAMEWORK: index of the product or -1 */
    uint32_t tid;
    uint8_t kind;
};

/* Calls that went to the device together: one alone, or those of a group. */
struct nsys_group {
    size_t first, count; /* into the process's ordered calls */
};

struct nsys_process {
    int64_t key; /* globalPid */
    struct idmap threads;
    struct idmap launch_ids; /* correlation of device work -> launches */
    NSYS_LIST(struct nsys_launch, launches);
    struct idmap sync_call_ids; /* correlation -> sync calls */
    NSYS_LIST(struct nsys_sync_call, sync_calls);
    struct idmap context_ids;     /* -> contexts */
    NSYS_LIST(int32_t, contexts); /* their devices */
    struct idmap graph_ids;
    struct idmap joined;              /* communicator and device of the process */
    struct idmap comm_ids;            /* communicator -> comm_devices */
    NSYS_LIST(int32_t, comm_devices); /* how many of the process's devices are in it */
    NSYS_LIST(struct mark, spans);    /* named by the program */
    uint32_t *begins;                 /* [nbegins] launches by thread and time; owned */
    size_t nbegins;
    NSYS_LIST(struct nsys_range, ranges);
    NSYS_LIST(struct nsys_call, calls);
    NSYS_LIST(struct product, products);
    NSYS_LIST(int32_t, ordered); /* calls, by thread and time */
    NSYS_LIST(struct nsys_group, groups);
};

/* One process with one of its devices. */
struct nsys_member {
    size_t process; /* index */
    int32_t device;
    size_t rank; /* index into the run's ranks */
    size_t kernels;
};

#define NSYS_TEXT_MAX 4096 /* of a text is kept */

struct nsys_text_slot {
    int64_t id;
    bool known, there;
    struct buf text; /* owned */
};

struct nsys_schema_field {
    int64_t schema, offset, type;
    int what; /* enum in nsys_nccl.c */
};

struct nsys {
    struct run *run;
    struct nsys_db *db;
    const char *label;
    struct memo texts;
    struct nsys_text_slot cache[4096]; /* StringIds that repeat */
    NSYS_LIST(struct nsys_process, processes);
    NSYS_LIST(struct nsys_member, members);
    NSYS_LIST(struct nsys_schema_field, fields);
    size_t last_member;
    int64_t utc_ns;  /* of time 0; UNKNOWN_NS */
    int64_t last_ns; /* the last moment seen */
    int ngpus;
    bool has_syncs, has_nvtx, has_graphs;
    size_t left_out; /* marks beyond the bound */
};

/* Reads an opened export into run, calling it `label`. */
int nsys_read_db(struct run *run, struct nsys_db *db, const char *label, struct err *e);

/* The steps of reading: each notes what it cannot use. Only nsys_work() can fail: without device
 * work there is no rank. */
int nsys_work(struct nsys *n, struct err *e);
void nsys_devices(struct nsys *n); /* their names */
void nsys_host(struct nsys *n);
void nsys_schemas(struct nsys *n);
void nsys_nvtx(struct nsys *n);
void nsys_around(struct nsys_process *p);
void nsys_products(struct nsys *n);
void nsys_comm(struct nsys *n);
void nsys_finish(struct run *run);

/* A text by its id, as it stands in the file; p is NULL where there is none. Valid until the next
 * call. */
struct json_text nsys_name(struct nsys *n, int64_t id);

/* The process of a globalPid or globalTid; NULL when it did no device work. */
struct nsys_process *nsys_process_of(struct nsys *n, int64_t global);

/* The rank of a process and device; NULL. */
struct rank *nsys_rank_of(struct nsys *n, const struct nsys_process *p, int64_t device);

/* A range's times: usable, in order? An end that is not there is the last moment seen. */
bool nsys_times(const struct nsys *n, int64_t start, int64_t end);

/* "FILE: TABLE: N rows of it ...": what of a table could not be used. */
void nsys_note_rows(struct nsys *n, enum nsys_table table, uint64_t count, const char *why);
void nsys_note_err(struct nsys *n, const struct err *e);

/* What an operator's range tells of its product, kept in the process; -1: it is none. */
int32_t nsys_product(struct nsys_process *p, const char *name, struct json_text text);

/* Takes what an NCCL range's payload says into the call: binary by its schema, or JSON. */
void nsys_payload(const struct nsys *n, struct nsys_call *call, const unsigned char *data,
                  size_t len);
void nsys_payload_json(struct nsys_call *call, struct json_text text);

#endif

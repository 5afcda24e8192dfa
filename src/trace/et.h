/* SPDX-License-Identifier: MIT
 *
 * PyTorch execution traces (schema 1.x): what operators were called with, without times. They
 * complete Kineto traces of the same run, which have times but, before 2024 or recorded without
 * shapes, no sizes. et.c reads one, et_join.c finds for each of its calls the one in the Kineto
 * trace of the same rank.
 *
 * The rank is the one of the same process id; else of the number in the file's name; else there is
 * only one. Calls are the same where both traces bear PyTorch's record function id. Where they do
 * not, a thread's calls of process groups and operators of product.h are compared in their order:
 * when exactly one thread of the execution trace has the same sequence of names, or one that is
 * repeated (an execution trace usually holds one iteration), they are taken to be the same.
 */
#ifndef SPECTER_TRACE_ET_H
#define SPECTER_TRACE_ET_H

#include "trace/kineto.h"

#define ANCHOR_NONE UINT32_MAX

/* A call in a Kineto trace, in order of thread and time. */
struct anchor {
    const char *name;   /* interned: record_param_comms, aten::mm */
    uint64_t record_id; /* 0 unknown */
    uint64_t id;        /* of its work */
    int64_t start_ns;   /* likewise */
    uint32_t tid;
    uint32_t op; /* its work: index into the rank's ops; ANCHOR_NONE: none, or several */
};

/* The same call in an execution trace. */
struct et_call {
    const char *name; /* interned */
    uint64_t record_id;
    uint64_t place; /* in the file */
    int64_t tid;
    struct kineto_meta meta; /* record_param_comms */
    struct product product;  /* of an operator that is one */
};

struct et {
    struct run *run;
    struct kineto k; /* names, groups: for what it shares with Kineto traces */
    const char *label;
    int64_t pid;       /* -1 unknown */
    bool known_schema; /* 1.x */
    char schema[32];   /* "" none */
    KINETO_LIST(struct et_call, calls);
    uint64_t bad; /* nodes that cannot be used */
    uint64_t bad_offset;
    const char *bad_reason;
};

/* Tells the rank's operations what the calls know. */
void et_join(struct et *et);

#endif

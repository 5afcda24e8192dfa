/* SPDX-License-Identifier: MIT */
#include "report/op_text.h"

#include <stdio.h>

static const char *comm_title(const struct op *op)
{
    if (op->coll.op < SPECTER_COMM_OP_COUNT)
        return specter_comm_op_name((enum specter_comm_op)op->coll.op);
    return op->name[0] != '\0' ? op->name : "communication";
}

const char *op_title(const struct op *op, char buf[OP_TITLE_MAX])
{
    switch (op->class) {
    case OP_COLL:
    case OP_P2P:
        return comm_title(op);
    case OP_GEMM:
        if (op->gemm.m == 0)
            break;
        snprintf(buf, OP_TITLE_MAX, "GEMM %ux%ux%u", op->gemm.m, op->gemm.n, op->gemm.k);
        return buf;
    case OP_GRAPH:
        snprintf(buf, OP_TITLE_MAX, "graph %d", op->graph);
        return buf;
    default:
        break;
    }
    return op->name[0] != '\0' ? op->name : "kernel";
}

const char *sync_call_title(const struct sync_call *sync)
{
    static const char *const titles[] = {
        [SYNC_CALL_RECORD] = "record event",
        [SYNC_CALL_WAIT] = "wait for event",
        [SYNC_CALL_STREAM] = "synchronise stream",
        [SYNC_CALL_EVENT] = "synchronise event",
        [SYNC_CALL_DEVICE] = "synchronise device",
        [SYNC_CALL_ALLOC] = "allocate",
        [SYNC_CALL_FREE] = "free",
    };
    return titles[sync->kind];
}

const char *op_class_name(enum op_class class)
{
    static const char *const names[] = {
        [OP_COLL] = "collective", [OP_P2P] = "p2p",       [OP_GEMM] = "gemm",
        [OP_KERNEL] = "kernel",   [OP_MEMORY] = "memory", [OP_GRAPH] = "graph"};
    return names[class];
}

struct fields {
    struct op_field *list;
    size_t count;
};

static void add_number(struct fields *f, const char *key, int64_t value)
{
    f->list[f->count++] = (struct op_field){key, NULL, value};
}

static void add_text(struct fields *f, const char *key, const char *text)
{
    if (text[0] != '\0')
        f->list[f->count++] = (struct op_field){key, text, 0};
}

size_t op_fields(const struct run *run, const struct op *op, struct op_field list[OP_FIELDS_MAX])
{
    struct fields f = {list, 0};
    add_number(&f, "id", (int64_t)op->id);
    if (op_is_comm(op)) {
        if (!(op->flags & OP_BYTES_UNKNOWN))
            add_number(&f, "bytes", (int64_t)op->bytes);
        if (op->coll.comm >= 0) {
            add_text(&f, "comm", run->comms[op->coll.comm].id);
            add_text(&f, "group", run->comms[op->coll.comm].name);
            if (run->comms[op->coll.comm].size > 0)
                add_number(&f, "ranks", run->comms[op->coll.comm].size);
            if (op->class == OP_COLL && op->coll.seq >= 0)
                add_number(&f, "seq", op->coll.seq);
            if (op->class == OP_P2P && op->coll.p2p_seq >= 0)
                add_number(&f, "seq", op->coll.p2p_seq);
            if (op->coll.peer >= 0)
                add_number(&f, "peer", op->coll.peer);
        }
    }
    if (op->class == OP_MEMORY && !(op->flags & OP_BYTES_UNKNOWN))
        add_number(&f, "bytes", (int64_t)op->bytes);
    if (op->class == OP_GEMM && op->gemm.m != 0) {
        add_number(&f, "m", op->gemm.m);
        add_number(&f, "n", op->gemm.n);
        add_number(&f, "k", op->gemm.k);
        add_number(&f, "batch", op->gemm.batch);
    }
    if (op->dtype < SPECTER_DTYPE_COUNT && op->dtype != SPECTER_DTYPE_UNKNOWN)
        add_text(&f, "dtype", specter_dtype_name((enum specter_dtype)op->dtype));
    if (op_is_comm(op) || op->class == OP_GEMM)
        add_text(&f, "kernel", op->name);
    add_text(&f, "caller", op->caller);
    return f.count;
}

/* ---- in sheets ---- */

const char *comm_op_text(unsigned op)
{
    return op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name((enum specter_comm_op)op) : "unknown";
}

const char *comm_dtype_text(unsigned dtype)
{
    return dtype < SPECTER_DTYPE_COUNT ? specter_dtype_name((enum specter_dtype)dtype) : "";
}

const char *nccl_tests_dtype(enum specter_dtype type)
{
    static const char *const names[SPECTER_DTYPE_COUNT] = {
        [SPECTER_FP16] = "half",     [SPECTER_FP32] = "float",     [SPECTER_FP64] = "double",
        [SPECTER_BF16] = "bfloat16", [SPECTER_FP8E4M3] = "f8e4m3", [SPECTER_FP8E5M2] = "f8e5m2",
    };
    return type < SPECTER_DTYPE_COUNT && names[type] != NULL ? names[type]
                                                             : specter_dtype_name(type);
}

const char *comm_gemm_dtype_text(unsigned dtype, unsigned compute)
{
    return comm_dtype_text(dtype == SPECTER_FP32 && compute == SPECTER_TF32 ? compute : dtype);
}

const char *comm_group_text(int size, const char *name, struct arena *arena)
{
    const char *space = name[0] != '\0' ? " " : "";
    return size > 0 ? arena_printf(arena, "%d%s%s", size, space, name)
                    : arena_printf(arena, "-%s%s", space, name);
}

/* SPDX-License-Identifier: MIT
 *
 * Names of operations on a timeline, and their details there, for every format that draws one;
 * names of operations, types and groups in sheets.
 */
#ifndef SPECTER_REPORT_OP_TEXT_H
#define SPECTER_REPORT_OP_TEXT_H

#include "base/arena.h"
#include "trace/run.h"

/* "AllReduce", "GEMM 4096x4096x512", "graph 3", a kernel's name. Made in buf where need be. */
#define OP_TITLE_MAX 64
const char *op_title(const struct op *op, char buf[OP_TITLE_MAX]);

/* The call or wait of a host thread: "record event". */
const char *sync_call_title(const struct sync_call *sync);

/* "collective", "p2p", "gemm", "kernel", "memory", "graph". */
const char *op_class_name(enum op_class class);

struct op_field {
    const char *key;
    const char *text; /* borrowed from the run or constant; NULL: a number */
    int64_t number;
};

/* Fills the operation's details beside its times. Returns the number of fields. */
#define OP_FIELDS_MAX 16
size_t op_fields(const struct run *run, const struct op *op, struct op_field list[OP_FIELDS_MAX]);

/* ---- in sheets ---- */

/* "AllReduce"; "unknown" where the trace does not tell: such rows are counted like others. */
const char *comm_op_text(unsigned op);

/* "fp16"; "" unknown. */
const char *comm_dtype_text(unsigned dtype);

/* The name that nccl-tests prints for a type: "half", "bfloat16". */
const char *nccl_tests_dtype(enum specter_dtype type);

/* The type of a GEMM: that of its operands, but "tf32" of fp32 operands that are computed so. */
const char *comm_gemm_dtype_text(unsigned dtype, unsigned compute);

/* "8 tp": size, where known, and name of a communicator. */
const char *comm_group_text(int size, const char *name, struct arena *arena);

#endif

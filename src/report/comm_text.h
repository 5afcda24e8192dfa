/* SPDX-License-Identifier: MIT
 *
 * How sheets name operations, types and groups.
 */
#ifndef SPECTER_REPORT_COMM_TEXT_H
#define SPECTER_REPORT_COMM_TEXT_H

#include "base/arena.h"

/* "AllReduce"; "unknown" where the trace does not tell: such rows are counted like others. */
const char *comm_op_text(unsigned op);

/* "fp16"; "" unknown. */
const char *comm_dtype_text(unsigned dtype);

/* Of a product, in what it is computed where the type of its operands does not tell: "tf32" of fp32
 * operands. */
const char *comm_gemm_dtype_text(unsigned dtype, unsigned compute);

/* "8 tp": size, where known, and name of a communicator. */
const char *comm_group_text(int size, const char *name, struct arena *arena);

#endif

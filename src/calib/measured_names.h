/* SPDX-License-Identifier: MIT
 *
 * What measured tables call things: operations, element types, NCCL's algorithms and protocols, an
 * empty cell. Letter case never counts. To add a spelling: the tables in measured_names.c.
 */
#ifndef SPECTER_CALIB_MEASURED_NAMES_H
#define SPECTER_CALIB_MEASURED_NAMES_H

#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* "all_reduce", "AllReduce", "ncclAllReduce", "all_reduce_perf", "bcast", ...; "sendrecv" is
 * SPECTER_SEND. SPECTER_COMM_OP_COUNT: none of them. */
enum specter_comm_op measured_op(const char *text);

/* As nccl-tests and docs/validate.md name it: "all_reduce"; SPECTER_SEND is "sendrecv". "unknown"
 * where they do not. */
const char *measured_op_name(enum specter_comm_op op);

/* "half", "bfloat16", "torch.float32", "nvfp4", ...; else SPECTER_DTYPE_UNKNOWN. */
enum specter_dtype measured_dtype(const char *text);

/* Values of NCCL_ALGO and NCCL_PROTO, or words of NCCL's profiler ("NVLS_TREE"), as struct
 * comm_choice has them; NULL: none of them. */
const char *measured_algo(const char *text, size_t len);
const char *measured_proto(const char *text, size_t len);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Reads the names of kernels and collectives: whether a kernel communicates (by the table of
 * base/comm_kernels.def), its operation, type and number of GPUs, and operators of the framework
 * that communicate. Every reader asks here, so that one kernel is the same operation in all
 * formats.
 */
#ifndef SPECTER_TRACE_KERNEL_NAMES_H
#define SPECTER_TRACE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether this kernel is communication. */
bool kernel_is_comm(const char *kernel);

/* Returns whether it is a kernel of NCCL, RCCL or MSCCL, whose calls a process group records. */
bool kernel_is_nccl(const char *kernel);

/* Number of GPUs that it works on, where its name tells; -1. */
int64_t kernel_gpus(const char *kernel);

/* enum specter_comm_op by what a call is named (all_reduce, _allgather_base...); COUNT where
 * the name does not tell, as SendRecv. */
int comm_op_named(const char *name, size_t len);

/* Returns the index of the input that an operator of the framework sends, where it is one that
 * communicates and that no process group records ("_C_custom_ar::all_reduce"); -1. comm_op_named()
 * tells its operation. */
int comm_operator_input(const char *name);

/* enum specter_comm_op of a kernel: ncclKernel_AllReduce_RING_LL_Sum_float(...),
 * ncclDevKernel_SendRecv(...), ncclSymDevKernel_...; else what kernels of its kind do; COUNT. */
int kernel_comm_op(const char *kernel);

/* Send and receive are one kernel, which the name does not tell apart. */
bool kernel_is_sendrecv(const char *kernel);

/* enum specter_redop; NONE when the name does not tell: ncclDevKernel_AllReduce_Sum_f32_RING_LL
 * runs Max and all others, too. Names before (ncclKernel) and of symmetric memory are exact. */
uint8_t kernel_redop(const char *kernel);

/* enum specter_dtype of a reducing kernel by its name ("..._Sum_bf16_RING_LL", "..._Sum_float",
 * "..._sum_bf16(...)"); UNKNOWN where it does not tell: of ncclDevKernel, signed integers may be
 * named unsigned. */
int kernel_dtype(const char *kernel);

#endif

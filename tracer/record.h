/* SPDX-License-Identifier: MIT
 *
 * What a hook leaves behind: one fixed-size record in its thread's ring. The writer thread turns it
 * into a line of the trace; nothing here is text.
 */
#ifndef SPECTER_TRACER_RECORD_H
#define SPECTER_TRACER_RECORD_H

#include <stdint.h>

#define NO_TIME INT64_MIN  /* a time that is not known: null in the file */
#define NO_ID UINT32_MAX   /* likewise for streams, events, groups */
#define NO_SPAN UINT32_MAX /* the record waits for nothing */

enum record_kind { RECORD_NCCL, RECORD_GEMM, RECORD_RECORD, RECORD_WAIT, RECORD_SYNC };

enum sync_kind { SYNC_STREAM, SYNC_EVENT, SYNC_DEVICE };

enum beta_kind { BETA_UNKNOWN, BETA_KNOWN };

struct record {
    uint8_t kind;   /* enum record_kind */
    uint8_t op;     /* enum specter_comm_op, enum hook_id (GEMM) or enum sync_kind */
    uint8_t dtype;  /* enum specter_dtype */
    uint8_t timing; /* enum specter_timing; with a span: what remains when the span gives no time */
    int16_t device; /* CUDA ordinal; -1 unknown */
    uint16_t tid;
    uint32_t stream; /* ids.h */
    uint32_t span;   /* device.h */
    uint32_t group;
    uint32_t group_index; /* position in its group, from 1 */
    int64_t host_ns, host_end_ns;
    int64_t start_ns, dur_ns; /* from init.mono_ns; set by --sync, else by the writer */
    union {
        struct {
            uint64_t comm; /* identity; 0 unknown */
            uint64_t count;
            int64_t seq; /* or p2p_seq; -1 unknown */
            int32_t comm_rank, comm_size;
            int32_t peer; /* peer or root; -1 none */
            uint8_t redop;
            uint8_t inplace;
        } nccl;
        struct {
            int64_t m, n, k;
            int64_t lda, ldb, ldc;
            double beta;
            uint32_t batch;
            uint16_t epilogue; /* cublasLtEpilogue_t; 0: not an Lt call */
            uint8_t dtype_b, dtype_c, compute;
            uint8_t beta_known; /* enum beta_kind */
            char trans[2];
        } gemm;
        struct {
            uint32_t event; /* ids.h */
        } dep;
    };
};

_Static_assert(sizeof(struct record) == 128, "two cache lines a record");

#endif

/* SPDX-License-Identifier: MIT
 *
 * One line of a measured table, by the columns of its header: for measured.c alone.
 *
 * To add a column: its line below, its use in measured_row.c. To add a spelling of a value:
 * measured_names.c.
 */
#ifndef SPECTER_CALIB_MEASURED_ROW_H
#define SPECTER_CALIB_MEASURED_ROW_H

#include "calib/csv.h"
#include "calib/measured.h"

/* X(id, name in the header) */
#define MEASURED_COLUMNS(X)          \
    X(SOURCE, "source_id")           \
    X(GPU, "gpu_profile")            \
    X(DEVICE, "gpu")                 \
    X(NETWORK, "network_profile")    \
    X(NOTES, "notes")                \
    X(TIME, "time_us")               \
    X(DTYPE, "dtype")                \
    X(COLLECTIVE, "collective")      \
    X(TEST, "test")                  \
    X(DIRECTION, "direction")        \
    X(BYTES, "bytes")                \
    X(NODES, "nodes")                \
    X(RANKS, "ranks")                \
    X(PER_NODE, "gpus_per_node")     \
    X(ALGO, "nccl_algo")             \
    X(PROTO, "nccl_proto")           \
    X(ALGBW, "algbw_GBps")           \
    X(BUSBW, "busbw_GBps")           \
    X(BW, "bw_GBps")                 \
    X(M, "m")                        \
    X(N, "n")                        \
    X(K, "k")                        \
    X(BATCH, "batch")                \
    X(TFLOPS, "tflops")              \
    X(LIB, "lib")                    \
    X(CACHE, "cache")                \
    X(MODEL, "model")                \
    X(CHANNELS, "channels")          \
    X(BOUND, "bound")                \
    X(GEMM_ALONE, "gemm_us")         \
    X(GEMM_BESIDE, "gemm_beside_us") \
    X(COMM_ALONE, "collective_us")   \
    X(ITERATION, "iter_time_s")      \
    X(TOKENS, "tokens_per_s_per_gpu")

enum measured_column {
#define X(id, name) COLUMN_##id,
    MEASURED_COLUMNS(X)
#undef X
        COLUMN_COUNT
};

extern const char *const measured_columns[COLUMN_COUNT]; /* as headers name them */

/* A table being read. */
struct measured_reader {
    struct measured *m;
    const struct measured_opts *opts;
    const char *path; /* interned */
    enum measured_kind kind;
    bool overlap;                       /* of a collective with GEMMs beside it */
    int place[COLUMN_COUNT];            /* of each column among the fields; -1: not in the header */
    const char *fields[CSV_FIELDS_MAX]; /* without spaces around; "" where a value is missing */
    struct buf reason;                  /* why the row at hand is skipped */
    bool damaged;
};

/* Fills *row from r->fields. 0, or -1 with r->reason and r->damaged filled. */
int measured_row_parse(struct measured_reader *r, struct measured_row *row);
int measured_overlap_parse(struct measured_reader *r, struct measured_overlap *row);

#endif

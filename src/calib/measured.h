/* SPDX-License-Identifier: MIT
 *
 * Measured times: tables of collectives, of messages between GPUs (p2p) and of GEMMs
 * (gemm), read by the names in their header. Columns come in any order, unknown ones are passed
 * over; docs/validate.md lists what each kind needs.
 *
 *     struct measured m;
 *     measured_init(&m);
 *     if (measured_read(&m, "collectives.csv", &(struct measured_opts){0}, e) < 0) ...
 *     for (size_t i = 0; i < m.nrows; i++)
 *         ... m.rows[i].time_us
 *     measured_release(&m);
 *
 * Rows are those that can be compared with a prediction: they name known profiles, hold plausible
 * numbers and are not marked doubtful. Any other row is in `skips`, with file, line and reason; no
 * row is in neither.
 */
#ifndef SPECTER_CALIB_MEASURED_H
#define SPECTER_CALIB_MEASURED_H

#include "base/arena.h"
#include "base/buf.h"
#include "calib/csv.h"
#include "model/cost.h"

#include <stdbool.h>
#include <stddef.h>

enum measured_kind { MEASURED_COLLECTIVE, MEASURED_P2P, MEASURED_GEMM, MEASURED_KINDS };

const char *measured_kind_name(enum measured_kind kind); /* "collective", "p2p", "gemm" */

/* Texts are interned: equal ones have equal pointers, "" where a column is missing. */
struct measured_row {
    enum measured_kind kind;
    const char *file; /* as it was named */
    size_t line;      /* in it, counted from 1 */
    const char *source;
    const struct gpu_profile *gpu;     /* never NULL */
    const struct network_profile *net; /* NULL for gemm */
    double time_us;                    /* above 0 */
    const char *notes;
    enum specter_dtype dtype; /* SPECTER_DTYPE_UNKNOWN where it is not said */

    /* collective, p2p */
    enum specter_comm_op op;       /* p2p: SPECTER_SEND */
    double bytes;                  /* full buffer S, as nccl-tests counts it */
    struct layout where;           /* ranks over nodes, evenly */
    struct comm_choice forced;     /* what the run forced NCCL to do, by its notes or columns */
    bool no_nvls;                  /* the run had NVLS switched off */
    int nccl;                      /* version, 22809 is 2.28.9; 0 where it is not said */
    enum comm_direction direction; /* p2p: COMM_TO_NEXT where it is not said */

    /* gemm */
    uint64_t m, n, k, batch;
    const char *lib;
    enum gemm_cache { GEMM_CACHE_UNTOLD, GEMM_CACHE_COLD, GEMM_CACHE_HOT } cache;
};

/* A GEMM beside collectives, as `specter bench overlap` writes it. */
struct measured_overlap {
    struct measured_row of; /* the collective, alone */
    int channels;           /* of the communicator; 0: the library's own */
    bool memory;            /* what bounds the GEMM: memory, else the multiprocessors */
    double gemm_us, gemm_beside_us;
};

struct measured_skip {
    const char *file;
    size_t line;
    const char *reason; /* interned: rows with the same reason have the same pointer */
    bool damaged;       /* the row cannot be read, as opposed to: it is not to be scored */
};

struct measured {
    struct arena arena; /* texts */
    struct intern names;
    struct measured_row *rows; /* owned, in the order of files and lines */
    size_t nrows, cap_rows;
    struct measured_overlap *overlaps; /* likewise; in no other list */
    size_t noverlaps, cap_overlaps;
    struct measured_skip *skips; /* owned */
    size_t nskips, cap_skips;
    struct measured_file {
        const char *path;
        const char *why; /* NULL: it was read; else why it holds nothing for us */
    } * files;           /* owned */
    size_t nfiles, cap_files;
};

struct measured_opts {
    /* Take the place of the table's profile in rows that name one of this name, or none. NULL:
     * rows stand for themselves. */
    const struct gpu_profile *gpu;
    const struct network_profile *net;
};

void measured_init(struct measured *m);
void measured_release(struct measured *m);

/* Adds a file's rows (plain or gzip), or those of all *.csv in a folder. 0, or -1 with e filled
 * (ERR_INPUT): it cannot be read, or its header is of no kind above. In a folder such files are
 * passed over, and named in m->files; one of them must be usable. */
int measured_read(struct measured *m, const char *path, const struct measured_opts *opts,
                  struct err *e);

/* Adds a row that another reader made; its texts as those of measured_row. */
void measured_add(struct measured *m, const struct measured_row *row);

/* Adds a skip: for readers, and for those who find later that a row cannot be predicted. */
void measured_skip(struct measured *m, const char *file, size_t line, bool damaged,
                   const char *reason);

/* Two rows that measured the same. */
struct measured_pair {
    const struct measured_row *slow, *fast;
    double ratio; /* of their times; 1 where no two measured the same */
};

/* The pair that differs most. */
struct measured_pair measured_contradiction(const struct measured_row *rows, size_t n);

/* ---- what tables call things (measured_names.c) ----
 *
 * Operations, element types, NCCL's algorithms and protocols, an empty cell. Letter case never
 * counts. To add a spelling: the tables there. */

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

/* ---- one row by the columns of its header: measured_row.c, for measured.c ----
 *
 * To add a column: its line below, its use in one of the parsers. To add a spelling of a value:
 * measured_names.c.
 *
 * X(id, name in the header) */
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
    X(NCCL, "nccl_version")          \
    X(LIBRARY, "library")            \
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
    X(WRONG, "wrong")                \
    X(TOKENS, "tokens_per_s_per_gpu")

enum measured_column {
#define X(id, name) COLUMN_##id,
    MEASURED_COLUMNS(X)
#undef X
        COLUMN_COUNT
};

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

extern const char *const measured_column_names[COLUMN_COUNT];

/* Fill *row from r->fields. 0, or -1 with r->reason and r->damaged filled. */
int measured_row_parse(struct measured_reader *r, struct measured_row *row);
int measured_overlap_parse(struct measured_reader *r, struct measured_overlap *row);

#endif

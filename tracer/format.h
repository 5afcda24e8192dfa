/* SPDX-License-Identifier: MIT
 *
 * Lines of a trace, without printf: half a dozen numbers a line and a million lines leave no room
 * for it, and it allocates and obeys locales. Keys and their order come from specter/trace.h.
 *
 * An output buffer is checked once a line: a caller makes sure that FORMAT_LINE_MAX bytes (for an
 * init line: FORMAT_INIT_MAX) are free before it formats.
 */
#ifndef SPECTER_TRACER_FORMAT_H
#define SPECTER_TRACER_FORMAT_H

#include "record.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FORMAT_LINE_MAX 4096
#define FORMAT_INIT_MAX SPECTER_LINE_MAX

struct out {
    char *p; /* where the next byte goes */
};

/* ---- values as JSON (format_value.c) ----
 *
 * Named as specter/trace.h names the kinds of values. NULL, NO_TIME, INT64_MIN, UINT64_MAX and a
 * negative put_F1 are written as null. */

void put_STR(struct out *o, const char *text); /* escaped; bytes that are not UTF-8 become U+FFFD */
void put_RAW(struct out *o, const char *json);
void put_U64(struct out *o, uint64_t value);
void put_I64(struct out *o, int64_t value);
void put_US(struct out *o, int64_t ns);   /* microseconds with three decimals */
void put_F1(struct out *o, double value); /* one decimal; at most 1e15 */

/* `value` with its last `places` digits after the point. */
void put_fixed(struct out *o, uint64_t value, int places);

static inline void put_bytes(struct out *o, const char *bytes, size_t len)
{
    memcpy(o->p, bytes, len);
    o->p += len;
}

#define PUT_LITERAL(_o, _text) put_bytes(_o, _text, sizeof(_text) - 1)

/* Most bytes that put_STR can make of `len` bytes of text. */
#define FORMAT_STR_MAX(_len) (6 * (_len) + 2)

/* ---- lines (format.c) ---- */

/* Values of a line that its record does not hold. */
struct line_extras {
    const char *gemm_name; /* of a GEMM: format_gemm_name() */
    uint64_t op_count;     /* of a graph: how many recorded operations it holds */
    const char *ops;       /* and a JSON array of their ids, or NULL; without it the line has up to
                            * FORMAT_GRAPH_MAX bytes */
};

#define FORMAT_GRAPH_MAX 512

/* A finished operation or act. Times in the record count from init.mono_ns. id: an operation's.
 * extras: needed for GEMMs and graphs alone. */
void format_record(struct out *o, const struct record *r, uint64_t id,
                   const struct line_extras *extras);

struct init_line {
    const char *run, *host;
    int64_t rank, world_size, local_rank;
    uint64_t sync_mode, pid, mono_ns, real_ns, sample, nccl, cuda;
    const char *coverage, *gpus, *env;  /* JSON */
    const char *nccl_file, *nccl_build; /* NULL: not known */
    const char *window;                 /* NULL: the whole run */
    uint64_t ring;                      /* 0: none */
};

struct comm_line {
    int64_t time_ns;
    uint64_t comm, parent; /* identity; 0 unknown or none */
    int64_t comm_rank, comm_size, device, split_seq, color, key;
    const char *name; /* NULL: none */
    int64_t nodes;
};

struct clock_record {
    int64_t device, dev_ns;
    uint64_t mono_ns, real_ns, err_ns;
};

struct sample_line {
    int64_t time_ns;
    const char *of, *why;
    uint64_t rate;
};

struct plugin_line {
    enum specter_comm_op op;
    uint64_t comm;
    int64_t comm_rank, seq, peer;
    const char *algo, *proto; /* NULL: unknown */
    uint64_t channels;        /* UINT64_MAX: unknown */
    int64_t kernel_ns;        /* NO_TIME: unknown */
};

struct shutdown_line {
    int64_t time_ns;
    uint64_t total_ops, dropped;
    const char *summary; /* JSON */
};

void format_init(struct out *o, const struct init_line *l);
void format_comm(struct out *o, const struct comm_line *l);
void format_clock(struct out *o, const struct clock_record *l);
void format_sample(struct out *o, const struct sample_line *l);
void format_dump(struct out *o, int64_t time_ns);
void format_plugin(struct out *o, const struct plugin_line *l);
void format_shutdown(struct out *o, const struct shutdown_line *l);

/* Name of a GEMM as it stands in the file: the function's, without "cublas" and "_v2". */
void format_gemm_name(char name[64], const char *function);

/* cublasLtEpilogue_t in words: "none", "bias", "relu_bias"; "other" for one that is not known. */
const char *format_epilogue(unsigned epilogue);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Files of benchmarks of communication, into struct bench_result:
 *
 *     nccl-tests, rccl-tests   the text that they print, one run or several, with NCCL_DEBUG lines,
 *                              a launcher's output and its prefixes between, with or without their
 *                              header
 *     their JSON (-J)          one run or several, with the times of single iterations
 *     rccl-tests' file (-x)    JSON or CSV, without names of GPUs and hosts
 *     specter.bench/1          what `bench collective --json` wrote
 *     profile_*.txt            three collectives at some sizes (docs/bench.md)
 *
 * Formats are recognised by content; compressed files are read as they are. What a log does not
 * tell is left unknown in the rows: bench_infer() derives some of it, options give the rest.
 *
 *     struct bench_result r;
 *     bench_result_init(&r);
 *     if (bench_read(&r, "all_reduce.log", e) < 0) ...
 *
 * To add a format: its reader below, its row in the table of read.c.
 */
#ifndef SPECTER_BENCH_READ_H
#define SPECTER_BENCH_READ_H

#include "base/json.h"
#include "bench/drift.h"
#include "bench/p2p.h"
#include "bench/result.h"
#include "bench/state.h"

struct buf;
struct err;
struct stream;

/* Adds the runs of a file; "-" is stdin. Runs without rows are dropped. 0, or -1 with e filled
 * (ERR_INPUT): it cannot be read, or it holds no row. What a usable file has that is damaged is in
 * r->notes, and r->damaged is set. */
int bench_read(struct bench_result *r, const char *path, struct err *e);

/* The readers, each after stream_open(); `file` is the name in messages. 0, or -1 with e filled.
 */
int bench_read_nccl_tests(struct bench_result *r, struct stream *s, const char *file,
                          struct err *e);
int bench_read_nccl_tests_json(struct bench_result *r, struct stream *s, const char *file,
                               struct err *e);
int bench_read_rccl_tests_file(struct bench_result *r, struct stream *s, const char *file,
                               struct err *e);
int bench_read_own_json(struct bench_result *r, struct stream *s, const char *file, struct err *e);
int bench_read_profile(struct bench_result *r, struct stream *s, const char *file, struct err *e);

/* Infers from a log's numbers what it does not say: the operation and the number of ranks.
 * nccl-tests prints size, count, operator, root, algbw and busbw; size / (count x element size) is
 * 1 or the number of ranks, and busbw / algbw is the operation's factor for that number
 * (specter_comm_op_bus_factor()). What several operations or numbers of ranks explain is left open.
 *
 * Fills in the operation of rows without one, and where.ranks, of rows and run, when it is 0: by
 * counting on all rows of the run. Then the rates of known operations again, from times, which have
 * more digits. `op`: one that the user names for rows without one; SPECTER_COMM_OP_COUNT: none. */
void bench_infer(struct bench_run *run, enum specter_comm_op op);

/* ---- a folder of messages (p2p_read.c) ----
 *
 * A folder of `specter bench p2p -o DIR` read back; also one that a script with the same columns
 * left (execution_log.csv: config_id, src, dst, size, repetition, timestamp_start_ns,
 * timestamp_end_ns, duration_ns; temperatures.csv), of which nothing else is known.
 *
 *     struct bench_p2p_files files;
 *     if (bench_p2p_read(&files, "traces/h100", e) == 0)
 *         bench_links_fit(&files.log, files.node_of, &links);
 *     bench_p2p_files_release(&files);
 *
 * Rows that cannot be read are notes of files.result, with file and line, which is then `damaged`.
 */

#define BENCH_P2P_SIZES_MAX 128

struct bench_p2p_files {
    struct bench_result result; /* hosts, settings, notes */
    struct bench_run *run;      /* of result */
    uint64_t sizes[BENCH_P2P_SIZES_MAX];
    struct bench_p2p_plan plan; /* sizes, seed, warmup, repeat */
    struct bench_p2p_log log;
    struct bench_drift_log drift[2];        /* before and after; n 0: not there */
    int *node_of;                           /* owned; by rank */
    struct bench_temperatures temperatures; /* of the first node */
    struct bench_gpu_summary *gpus;         /* owned; of all nodes */
    int ngpus;
    bool complete; /* as the metadata say; true where they do not */
};

/* 0, or -1 with e filled (ERR_INPUT): there is no execution_log.csv, or no message in it. To be
 * released in any case. */
int bench_p2p_read(struct bench_p2p_files *f, const char *folder, struct err *e);
void bench_p2p_files_release(struct bench_p2p_files *f);

/* ---- for readers of JSON ----
 *
 * Shared by the readers of JSON: the file as a whole, its values, and the meaning of its damage. A
 * text's copies live in the arena. */

/* All of a file, up to 512 MiB. 0, or -1 with e filled. */
int bench_json_file(struct stream *s, const char *file, struct buf *out, struct err *e);

/* A string, kept as bench_keep() does; "" for null. */
const char *bench_json_text(struct json *j, struct bench_result *r);

/* A number, or the string that stands for one ("nan", "    -1"); NAN for null and other strings. */
double bench_json_number(struct json *j);

/* A list of numbers, NULL for an empty one or null. What is beyond a million is passed over. */
const double *bench_json_numbers(struct json *j, struct arena *a, size_t *n);

/* After the last value: a damaged text is an error where none of the runs from `first` on has a
 * row, else a note, and the rows stand. 0, or -1 with e filled. */
int bench_json_end(const struct json *j, struct bench_result *r, size_t first, const char *file,
                   struct err *e);

#endif

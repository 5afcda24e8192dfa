/* SPDX-License-Identifier: MIT
 *
 * Files of benchmarks of communication, into struct bench_result:
 *
 *     nccl-tests, rccl-tests   the text that they print, one run or several, with NCCL_DEBUG lines,
 *                              a launcher's output and its prefixes between, with or without their
 *                              header
 *     their JSON (-J)          one run or several, with the times of single iterations
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

#include "bench/result.h"

struct err;
struct stream;

/* Adds the runs of a file; "-" is stdin. Runs without rows are dropped. 0, or -1 with e filled
 * (ERR_INPUT): it cannot be read, or it holds no row. What a usable file has that is damaged is in
 * r->notes, and r->damaged is set. */
int bench_read(struct bench_result *r, const char *path, struct err *e);

/* The readers, each behind stream_open(); `file` is the name in messages. 0, or -1 with e filled.
 */
int bench_read_nccl_tests(struct bench_result *r, struct stream *s, const char *file,
                          struct err *e);
int bench_read_nccl_tests_json(struct bench_result *r, struct stream *s, const char *file,
                               struct err *e);
int bench_read_own_json(struct bench_result *r, struct stream *s, const char *file, struct err *e);
int bench_read_profile(struct bench_result *r, struct stream *s, const char *file, struct err *e);

#endif

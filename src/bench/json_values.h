/* SPDX-License-Identifier: MIT
 *
 * What the readers of JSON have in common: the file as a whole, its values, and what its damage
 * means. A text's copies live in the arena.
 */
#ifndef SPECTER_BENCH_JSON_VALUES_H
#define SPECTER_BENCH_JSON_VALUES_H

#include "base/json.h"
#include "bench/result.h"

struct buf;
struct err;
struct stream;

/* All of a file, up to 512 MiB. 0, or -1 with e filled. */
int bench_json_file(struct stream *s, const char *file, struct buf *out, struct err *e);

/* A string, kept as bench_keep() does; "" for null. */
const char *bench_json_text(struct json *j, struct bench_result *r);

/* A number, or the string that stands for one ("nan", "    -1"); NAN for null and other strings. */
double bench_json_number(struct json *j);

/* A list of numbers, NULL for an empty one or null. What is beyond a million is passed over. */
const double *bench_json_numbers(struct json *j, struct arena *a, size_t *n);

/* Behind the last value: a damaged text is an error where none of the runs from `first` on has a
 * row, else a note, and the rows stand. 0, or -1 with e filled. */
int bench_json_end(const struct json *j, struct bench_result *r, size_t first, const char *file,
                   struct err *e);

#endif

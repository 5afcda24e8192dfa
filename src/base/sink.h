/* SPDX-License-Identifier: MIT
 *
 * Bytes into a file, front to back; gzip where its name ends in .gz. The file is there whole or as
 * it was (base/whole_file.h). sink_put() reports nothing: the first failure is kept, and closing
 * tells it.
 *
 *     struct sink *s;
 *     if (sink_open(&s, "trace.json.gz", e) < 0) return -1;
 *     sink_put(s, text, len);
 *     if (sink_close(s, e) < 0) return -1;
 */
#ifndef SPECTER_BASE_SINK_H
#define SPECTER_BASE_SINK_H

#include <stddef.h>

struct err;
struct sink;

/* 0, or -1 with e filled (ERR_INPUT). */
int sink_open(struct sink **out, const char *path, struct err *e);

void sink_put(struct sink *s, const void *bytes, size_t len);

/* Gives the file its name and releases s. -1 with e filled when not all of it was written. */
int sink_close(struct sink *s, struct err *e);

/* Releases s; what was there before stays. */
void sink_discard(struct sink *s);

#endif

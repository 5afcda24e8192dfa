/* SPDX-License-Identifier: MIT
 *
 * A file that is there whole or as it was: it is written beside its place, under a name of this
 * process, and takes its name when it is closed. A device, a pipe, a link, and a file in a folder
 * where nothing can be made, are written in place.
 *
 *     struct whole_file f;
 *     if (whole_file_open(&f, path, e) < 0) return -1;
 *     fprintf(f.out, ...);
 *     return whole_file_close(&f, e);
 */
#ifndef SPECTER_BASE_WHOLE_FILE_H
#define SPECTER_BASE_WHOLE_FILE_H

#include <stddef.h>
#include <stdio.h>

struct err;

struct whole_file {
    FILE *out;    /* for the caller to write to, not to close */
    char *path;   /* the file's name, owned */
    char *beside; /* what is written until then, owned; NULL: path itself */
    int begun;    /* its place in the list for whole_file_remove_begun(); -1: none */
};

/* 0, or -1 with e filled (ERR_INPUT) and nothing to close. A file that is replaced keeps its mode.
 */
int whole_file_open(struct whole_file *f, const char *path, struct err *e);

/* Gives the file its name and releases f. -1 with e filled (ERR_INPUT) when not all of it was
 * written: then what was there before stays. */
int whole_file_close(struct whole_file *f, struct err *e);

/* Removes what is begun and neither closed nor discarded, of all threads. For the handler of a
 * signal that ends the process: async-signal-safe. */
void whole_file_remove_begun(void);

/* Releases f without giving the file its name: what was there before stays. */
void whole_file_discard(struct whole_file *f);

/* ---- bytes, front to back (sink.c) ----
 *
 * Such a file, gzip where its name ends in .gz. sink_put() reports nothing: the first failure is
 * kept, and closing tells it.
 *
 *     struct sink *s;
 *     if (sink_open(&s, "trace.json.gz", e) < 0) return -1;
 *     sink_put(s, text, len);
 *     if (sink_close(s, e) < 0) return -1; */

struct sink;

/* 0, or -1 with e filled (ERR_INPUT). */
int sink_open(struct sink **out, const char *path, struct err *e);

void sink_put(struct sink *s, const void *bytes, size_t len);

/* Gives the file its name and releases s. -1 with e filled when not all of it was written. */
int sink_close(struct sink *s, struct err *e);

/* Releases s; what was there before stays. */
void sink_discard(struct sink *s);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The table that `specter sweep -o FILE` grows: rows are appended as they come, one write each, and
 * put into the order of the grid at the end, in another file that then takes FILE's name. So FILE
 * is a table of whole rows at any moment, but for a last line that a kill or a full disk has cut;
 * and the next call goes on from it.
 *
 *     if (sweep_file_open(&f, path, e) < 0 || sweep_file_resume(&f, &table, e) < 0) ...
 *     sweep_file_append(&f, &table, point, e) ...
 *     sweep_file_finish(&f, &table, e);
 *     sweep_file_close(&f);
 *
 * A FILE that is none (a pipe, /dev/stdout) gets all rows at the end, in order.
 */
#ifndef SPECTER_CMD_SWEEP_FILE_H
#define SPECTER_CMD_SWEEP_FILE_H

#include "cmd/sweep_table.h"

#include <sys/types.h>

struct sweep_file {
    const char *path; /* borrowed, as the user named it */
    char *target;     /* owned: without symbolic links */
    int fd;           /* -1: none */
    bool regular;
    bool in_order; /* what is in it is the beginning of the finished table */
    size_t last;   /* ... up to before this point */
    off_t length;  /* of whole lines */
    size_t rows;   /* points in it */
};

/* Opens or creates it, and locks it against another sweep. 0, or -1 with e filled. To be closed in
 * either case. */
int sweep_file_open(struct sweep_file *f, const char *path, struct err *e);

/* Puts its rows into the table, then drops a last line that is cut (*cut is its length). What is no
 * table of this grid and this version is refused with file and line, and left as it is. */
int sweep_file_resume(struct sweep_file *f, struct sweep_table *t, size_t *cut, struct err *e);

/* A row that is new. When it cannot be written, nothing of it stays. */
int sweep_file_append(struct sweep_file *f, const struct sweep_table *t, size_t point,
                      struct err *e);

/* In order. When that cannot be written, the file stays as it is. */
int sweep_file_finish(struct sweep_file *f, const struct sweep_table *t, struct err *e);
void sweep_file_close(struct sweep_file *f);

#endif

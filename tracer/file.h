/* SPDX-License-Identifier: MIT
 *
 * The trace file of this process. Lines are written whole, in batches; after a failure the file is
 * cut back to its last whole line. And what others ask of it while it is written.
 */
#ifndef SPECTER_TRACER_FILE_H
#define SPECTER_TRACER_FILE_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct file {
    int fd;     /* -1: none */
    dev_t dev;  /* what fd must still be: a program that closes all descriptors may since have */
    ino_t ino;  /* opened something of its own under our number */
    off_t size; /* bytes written; always at the end of a line */
    int dir;    /* the folder, which a program that changes its own does not change; -1: none */
    dev_t dir_dev;
    ino_t dir_ino;
    char base[160];      /* name in the folder */
    char name[PATH_MAX]; /* for messages */
};

/* Moves a new descriptor of the tracer's out of the program's way: from 200 on, where there is
 * room. Returns the number it then has; a negative fd is returned as it is. */
int file_move_up(int fd);

/* Makes the directory (0700) and in it a new file of ours (0600, never an existing one, never
 * through a link). 0, or an errno; f->name then says where. */
int file_open(struct file *f, const struct config *c);

bool file_is_ours(const struct file *f); /* fd is still the file */

/* Takes the space for a file of that size, which cannot run out afterwards. 0, or an errno:
 * EOPNOTSUPP on a file system that cannot. */
int file_allocate(struct file *f, off_t bytes);

/* Writes whole lines. 0, or the errno of what failed; *kept then tells how many bytes of `lines`
 * are in the file, which ends with a whole line. */
int file_write(struct file *f, const char *lines, size_t len, size_t *kept);

/* Writes lines in the place of those from `at` on, which are no longer. 0, or an errno. */
int file_replace(struct file *f, off_t at, const char *lines, size_t len);

/* Takes the last lines off the file, whole ones, as many as fit into buf; returns their length. A
 * file that is not twice that long stays as it is: 0. */
size_t file_cut_tail(struct file *f, char *buf, size_t size);

void file_discard(struct file *f); /* removes the file, if one was made */

void file_close(struct file *f); /* leaves alone what is no longer ours */

/* ---- requests ----
 *
 * `specter dump` asks running tracers for what they have by a file in their folder, whose one line
 * names the folder beside it that the answers go into. Looking costs a stat a few times a second.
 */

#define REQUEST_NAME_MAX 64

struct dump_request {
    int64_t polled_ns; /* on the pacing clock */
    bool begun;        /* the folder was read at least once */
    ino_t ino;         /* the last one that was seen */
    struct timespec made;
};

/* Returns whether there is a new request. One that the first call finds is not new: it was there
 * before this process had a file, so it asks other processes, or was left behind. folder: a name
 * without a slash. Only requests of the user and of root count: the folder may be writable for
 * others. */
bool request_poll(struct dump_request *q, const struct file *f, char folder[REQUEST_NAME_MAX]);

/* Puts the file where the request wants it: the file itself under another name, when it is an
 * ordinary trace, else what `copy` writes. 0, or an errno. */
int request_answer(const struct file *f, const char *folder, int (*copy)(void *arg, int fd),
                   void *arg);

#endif

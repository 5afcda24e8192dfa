/* SPDX-License-Identifier: MIT
 *
 * `specter dump` asks running tracers for what they have by a file in their folder, whose one line
 * names the folder beside it that the answers go into. Looking costs a stat a few times a second.
 */
#ifndef SPECTER_TRACER_REQUEST_H
#define SPECTER_TRACER_REQUEST_H

#include "file.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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

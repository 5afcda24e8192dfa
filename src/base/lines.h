/* SPDX-License-Identifier: MIT
 *
 * The lines of a stream, one after the other in bounded memory.
 *
 *     struct lines l;
 *     lines_init(&l, s, 65536);
 *     while ((rc = lines_next(&l, e)) > 0)
 *         use(l.text, l.len, l.number);
 *     lines_release(&l);
 */
#ifndef SPECTER_BASE_LINES_H
#define SPECTER_BASE_LINES_H

#include "base/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines {
    struct stream *stream; /* borrowed */
    char *block;           /* owned */
    size_t max, at, have;
    bool ended;
    char *text; /* of the line, without its end; valid until the next call */
    size_t len;
    uint64_t number; /* from 1 */
    bool too_long;   /* max bytes or more: text is a part of it */
    bool last;       /* the file ends in it without a newline: it may be cut */
};

void lines_init(struct lines *l, struct stream *s, size_t max);
void lines_release(struct lines *l);

/* 1 with the next line, 0 at the end, -1 with e filled when reading failed; the lines before that
 * have been given. */
int lines_next(struct lines *l, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Bytes from a file or pipe, a .gz or .zst, or a member of a .tar, .tar.gz or .tar.zst, which may
 * be packed itself, read front to back; nothing is ever unpacked to disk. The kind is recognised by
 * content, not by name.
 *
 *     struct stream *s;
 *     if (stream_open(&s, path, e) < 0) return -1;
 *     while ((n = stream_read(s, block, sizeof block, e)) > 0) ...
 *     stream_close(s);
 *
 * A byte order mark at the beginning of the content, or of a member's, is passed over: some editors
 * put one before any text, and no kind of file that is not text begins with those bytes.
 *
 * Names in messages are made safe for a terminal.
 */
#ifndef SPECTER_BASE_STREAM_H
#define SPECTER_BASE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct stream;

/* A file that inflates to more than this, or by more than this factor once past 16 MiB, is refused:
 * it is an accident or an attack. */
#define STREAM_INFLATED_MAX ((uint64_t)64 << 30)
#define STREAM_RATIO_MAX 1100 /* deflate cannot exceed 1032; of zstd no trace comes near */

int stream_open(struct stream **out, const char *path, struct err *e);

/* Bytes read (all that were asked for, but at the end), 0 at the end, -1 with e filled: a damaged
 * or cut archive names file and offset. What was good before the damage is returned first. */
ssize_t stream_read(struct stream *s, void *buf, size_t len, struct err *e);

/* Looks ahead without consuming: points *head at up to STREAM_PEEK bytes, valid until the next
 * call, and returns how many there are. -1 only when not one byte could be read. */
#define STREAM_PEEK ((size_t)64 << 10)
ssize_t stream_peek(struct stream *s, const char **head, struct err *e);

/* Adds the bytes of the file to *bytes: those read so far, and from now on as they are read (packed
 * ones, of a .gz). */
void stream_count(struct stream *s, atomic_uint_least64_t *bytes);

void stream_close(struct stream *s); /* NULL is allowed */

/* Adds the whole of a file to `text`. 0, or -1 with e filled: it cannot be read, or has more than
 * `most` bytes (ERR_INPUT). */
int stream_read_file(const char *path, size_t most, struct buf *text, struct err *e);

/* Archives: true when the content is a tar. stream_tar_next() goes to the next regular file and
 * gives its name, valid until the next call: 1 found, 0 at the end, -1 error. stream_read() then
 * yields that member. Links, devices and directories are passed over. */
bool stream_is_tar(const struct stream *s);
int stream_tar_next(struct stream *s, const char **name, struct err *e);

/* The path of a plain file, neither compressed nor an archive, for a library that opens files
 * itself; else NULL. */
const char *stream_plain_path(const struct stream *s);

/* Name of the stream in messages: path, or path:member. Valid until stream_tar_next(). */
const char *stream_label(const struct stream *s);

/* ---- lines ----
 *
 * The lines of a stream, one after the other in bounded memory.
 *
 *     struct lines l;
 *     lines_init(&l, s, 65536);
 *     while ((rc = lines_next(&l, e)) > 0)
 *         use(l.text, l.len, l.number);
 *     lines_release(&l); */

struct lines {
    struct stream *stream; /* borrowed */
    char *block;           /* owned */
    size_t max, at, have;
    bool ended, cut; /* of the file; of a line that is too long anyway */
    char *text;      /* of the line, without its end; valid until the next call */
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

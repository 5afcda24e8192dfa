/* SPDX-License-Identifier: MIT
 *
 * Shared by stream.c, which reads the file, stream_codec.c, which unpacks it, and stream_tar.c,
 * which finds the members of an archive.
 *
 * An error below the last good byte is kept in the stream and returned when that byte has been
 * taken.
 */
#ifndef SPECTER_BASE_STREAM_INTERNAL_H
#define SPECTER_BASE_STREAM_INTERNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/stream.h"

/* A kind of packing. To add one: stream_codec.c, and a line to the codecs of stream.c. */
struct codec {
    const char *name;                                  /* "gzip": of what is damaged, in messages */
    bool (*is)(const unsigned char *head, size_t len); /* by its first bytes */

    /* NULL: this build cannot. Returns the state that the stream keeps for it. */
    void *(*begin)(void);
    void (*end)(void *state);

    /* Unpacks until buf is full, the file ends or something is wrong; what is good counts. */
    size_t (*read)(struct stream *s, void *buf, size_t len);
};

extern const struct codec stream_gz, stream_zst;

#define STREAM_HEAD 4 /* bytes that tell the packing */

struct stream {
    int fd;
    bool tar;
    char *given;                     /* the path as it was given; owned */
    struct buf path;                 /* printable */
    struct buf label;                /* path, or path:member */
    struct err err;                  /* kept until the good bytes are taken; code ERR_NONE: none */
    uint64_t file_read;              /* bytes, so far */
    unsigned char head[STREAM_HEAD]; /* read to tell the packing, and from head_at on read again: a
                                        pipe cannot go back */
    size_t head_at, head_len;
    atomic_uint_least64_t *count; /* borrowed: bytes of the file are added; NULL */

    /* packed bytes */
    const struct codec *codec; /* NULL: none */
    void *state;               /* owned: the codec's */
    unsigned char *in;         /* owned; */
    size_t in_at, in_len;      /* not consumed yet: from at to len */
    uint64_t in_total;         /* read from the file */

    /* decoded bytes */
    char *ahead; /* owned: STREAM_PEEK bytes */
    size_t ahead_at, ahead_len;
    uint64_t decoded; /* in all */
    uint64_t taken;   /* of them */

    /* members of a tar */
    uint64_t left, padding; /* of the member, and after it */
    struct buf name;
    struct stream *member; /* owned: unpacks the member; NULL: it is not packed */
    uint64_t unpacked;     /* bytes, of all members */

    /* such a member itself */
    struct stream *archive; /* borrowed: the bytes come from there, and fd is -1; NULL: a file */
};

/* For a codec: makes sure there is packed input. 1 yes, 0 the file is at its end, -1 error. */
int stream_input(struct stream *s);

/* For an archive: up to len decoded bytes; less only at the end or before an error. */
size_t stream_take(struct stream *s, char *buf, size_t len);

/* Passes over a byte order mark. */
void stream_skip_mark(struct stream *s);

/* Finds by its first bytes whether a member is packed itself. Its damage is an error of reading it,
 * so that other members stand. */
void stream_open_member(struct stream *s);

/* Fills e with the error that the stream keeps. Returns -1. */
int stream_kept_error(const struct stream *s, struct err *e);

#define STREAM_TAR_BLOCK 512

/* Returns whether a block is the header of a member. */
bool stream_is_tar_header(const char *block);

/* Notes damage of an archive at the byte that comes next. Returns -1. */
int stream_tar_damaged(struct stream *s, const char *what);

/* Notes damage at the first packed byte that is not consumed. Returns -1. */
int stream_damaged(struct stream *s, const char *what);

#endif

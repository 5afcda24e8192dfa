/* SPDX-License-Identifier: MIT
 *
 * The file and its decoded bytes: plain or unpacked, with a buffer to look ahead.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/stream_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_FILE_BLOCK ((size_t)1 << 20)
#define IN_SIZE ((size_t)128 << 10)
#define CHUNK_MAX ((size_t)1 << 30)     /* zlib counts in unsigned int */
#define RATIO_FROM ((uint64_t)16 << 20) /* from so many bytes on, the ratio of sizes is limited */

static const struct codec *const codecs[] = {&stream_gz, &stream_zst};

/* NULL: what begins so is not packed. */
static const struct codec *codec_of(const unsigned char *head, size_t len)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i]->is(head, len))
            return codecs[i];
    }
    return NULL;
}

static ssize_t member_read(struct stream *s, void *buf, size_t len, struct err *e);

/* ---- the file ---- */

/* read(2), or for a member of an archive the same of that. -1: s->err says why. */
static ssize_t read_some(struct stream *s, void *buf, size_t len)
{
    ssize_t got;
    if (s->archive != NULL)
        return member_read(s->archive, buf, len, &s->err);
    do
        got = read(s->fd, buf, len);
    while (got < 0 && errno == EINTR);
    return got < 0 ? err_set(&s->err, ERR_INPUT, "%s: %s", s->path.data, strerror(errno)) : got;
}

/* Fills buf; less only at the end of the file. */
static ssize_t file_read(struct stream *s, void *buf, size_t len)
{
    size_t n = 0, again = 0;
    for (; again < len && s->head_at < s->head_len; again++)
        ((unsigned char *)buf)[again] = s->head[s->head_at++];
    while (again + n < len) {
        ssize_t got = read_some(s, (char *)buf + again + n, len - again - n);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    s->file_read += n;
    if (s->count != NULL)
        atomic_fetch_add_explicit(s->count, n, memory_order_relaxed);
    return (ssize_t)(again + n);
}

int stream_input(struct stream *s)
{
    ssize_t n;
    if (s->in_at < s->in_len)
        return 1;
    n = file_read(s, s->in, IN_SIZE);
    if (n <= 0)
        return (int)n;
    s->in_total += (uint64_t)n;
    s->in_at = 0;
    s->in_len = (size_t)n;
    return 1;
}

int stream_damaged(struct stream *s, const char *what)
{
    return err_set(&s->err, ERR_INPUT, "%s: %s at byte %llu", s->path.data, what,
                   (unsigned long long)(s->in_total - (s->in_len - s->in_at)));
}

/* ---- decoded bytes ---- */

static bool too_many_fold(uint64_t decoded, uint64_t packed)
{
    return decoded > RATIO_FROM && decoded / STREAM_RATIO_MAX > packed;
}

/* Refuses what unpacks to too much: a file, or all members of an archive together. */
static void check_size(struct stream *s, size_t got)
{
    uint64_t decoded = s->decoded;
    if (s->archive != NULL)
        decoded = s->archive->unpacked += got;
    if (decoded > STREAM_INFLATED_MAX)
        err_set(&s->err, ERR_INPUT, "%s: inflates to more than %llu GiB", s->path.data,
                (unsigned long long)(STREAM_INFLATED_MAX >> 30));
    else if (too_many_fold(s->decoded, s->in_total) ||
             (s->archive != NULL && too_many_fold(decoded, s->archive->file_read)))
        err_set(&s->err, ERR_INPUT, "%s: inflates more than %d-fold", s->path.data,
                STREAM_RATIO_MAX);
}

/* Less than len only at the end or before an error, which is then in s->err. */
static size_t decode(struct stream *s, char *buf, size_t len)
{
    size_t n = 0;
    while (n < len && s->err.code == ERR_NONE) {
        size_t chunk = len - n < CHUNK_MAX ? len - n : CHUNK_MAX, got;
        if (s->codec != NULL) {
            got = s->codec->read(s, buf + n, chunk);
        } else {
            ssize_t read = file_read(s, buf + n, chunk);
            got = read > 0 ? (size_t)read : 0;
        }
        n += got;
        s->decoded += got;
        if (s->codec != NULL)
            check_size(s, got);
        if (got < chunk)
            break;
    }
    return n;
}

/* Makes up to `want` bytes ready in s->ahead; how many there are. */
static size_t read_ahead(struct stream *s, size_t want)
{
    size_t have = s->ahead_len - s->ahead_at;
    if (have >= want)
        return want;
    memmove(s->ahead, s->ahead + s->ahead_at, have);
    s->ahead_at = 0;
    s->ahead_len = have + decode(s, s->ahead + have, want - have);
    return s->ahead_len;
}

size_t stream_take(struct stream *s, char *buf, size_t len)
{
    size_t ready = s->ahead_len - s->ahead_at;
    size_t n = ready < len ? ready : len;
    if (n > 0)
        memcpy(buf, s->ahead + s->ahead_at, n);
    s->ahead_at += n;
    if (n < len)
        n += decode(s, buf + n, len - n);
    s->taken += n;
    return n;
}

void stream_skip_mark(struct stream *s)
{
    char mark[3];
    size_t n = read_ahead(s, sizeof mark);
    if (text_bom_len(s->ahead + s->ahead_at, n) == 0 || (s->tar && s->left < sizeof mark))
        return;
    stream_take(s, mark, sizeof mark);
    s->left -= s->tar ? sizeof mark : 0;
}

int stream_kept_error(const struct stream *s, struct err *e)
{
    return err_set(e, s->err.code, "%s", s->err.msg);
}

/* ---- a packed member of an archive ---- */

/* A stream before its first byte, of that file or, where archive is not NULL, of a member. */
static struct stream *stream_new(const char *path, struct stream *archive)
{
    struct stream *s = calloc(1, sizeof *s);
    if (s == NULL || (s->ahead = malloc(STREAM_PEEK)) == NULL || (s->given = strdup(path)) == NULL)
        die("out of memory");
    buf_init(&s->path);
    buf_init(&s->label);
    buf_init(&s->name);
    buf_put_printable(&s->path, path, strlen(path));
    buf_put(&s->label, s->path.data, s->path.len);
    s->archive = archive;
    s->fd = -1;
    return s;
}

static int recognise(struct stream *s);

void stream_open_member(struct stream *s)
{
    const size_t want = s->left < STREAM_HEAD ? (size_t)s->left : STREAM_HEAD;
    if (read_ahead(s, want) < want ||
        codec_of((const unsigned char *)s->ahead + s->ahead_at, want) == NULL)
        return;
    s->member = stream_new(s->label.data, s);
    recognise(s->member);
}

/* ---- the interface ---- */

/* The bytes as they stand in the file, or in the member of an archive. */
static ssize_t member_read(struct stream *s, void *buf, size_t len, struct err *e)
{
    size_t n;
    if (s->tar && len > s->left)
        len = (size_t)s->left;
    if (len == 0)
        return 0;
    n = stream_take(s, buf, len);
    if (s->tar) {
        s->left -= n;
        if (n < len)
            stream_tar_damaged(s, "the archive is cut off");
    }
    return n == 0 && s->err.code != ERR_NONE ? stream_kept_error(s, e) : (ssize_t)n;
}

ssize_t stream_read(struct stream *s, void *buf, size_t len, struct err *e)
{
    return member_read(s->member != NULL ? s->member : s, buf, len, e);
}

ssize_t stream_peek(struct stream *s, const char **head, struct err *e)
{
    size_t want, n;
    if (s->member != NULL)
        s = s->member;
    want = s->tar && s->left < STREAM_PEEK ? (size_t)s->left : STREAM_PEEK;
    n = read_ahead(s, want);
    *head = s->ahead + s->ahead_at;
    if (n == 0 && s->err.code != ERR_NONE)
        return stream_kept_error(s, e);
    return (ssize_t)n;
}

bool stream_is_tar(const struct stream *s)
{
    return s->tar;
}

void stream_count(struct stream *s, atomic_uint_least64_t *bytes)
{
    atomic_fetch_add_explicit(bytes, s->file_read, memory_order_relaxed);
    s->count = bytes;
}

const char *stream_plain_path(const struct stream *s)
{
    return s->codec != NULL || s->tar ? NULL : s->given;
}

const char *stream_label(const struct stream *s)
{
    return s->label.data;
}

static int begin_codec(struct stream *s, const struct codec *codec)
{
    if (codec->begin == NULL)
        return err_set(&s->err, ERR_INPUT, "%s: packed with %s, which this build of specter lacks",
                       s->path.data, codec->name);
    s->in = malloc(IN_SIZE);
    if (s->in == NULL)
        die("out of memory");
    s->state = codec->begin();
    s->codec = codec;
    return 0;
}

/* Looks at the first bytes: how it is packed, then whether a tar is inside. */
static int recognise(struct stream *s)
{
    ssize_t n = file_read(s, s->head, sizeof s->head);
    const struct codec *codec;
    if (n < 0)
        return -1;
    s->head_len = (size_t)n;
    codec = codec_of(s->head, s->head_len);
    if (codec != NULL && begin_codec(s, codec) < 0)
        return -1;
    s->tar = s->archive == NULL && read_ahead(s, STREAM_TAR_BLOCK) == STREAM_TAR_BLOCK &&
             stream_is_tar_header(s->ahead);
    if (!s->tar)
        stream_skip_mark(s);
    return 0;
}

int stream_open(struct stream **out, const char *path, struct err *e)
{
    struct stream *s = stream_new(path, NULL);
    *out = NULL;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        err_set(&s->err, ERR_INPUT, "%s: %s", s->path.data, strerror(errno));
    if (s->fd < 0 || recognise(s) < 0) {
        stream_kept_error(s, e);
        stream_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

void stream_close(struct stream *s)
{
    if (s == NULL)
        return;
    stream_close(s->member);
    if (s->fd >= 0)
        close(s->fd);
    if (s->codec != NULL)
        s->codec->end(s->state);
    free(s->in);
    free(s->ahead);
    free(s->given);
    buf_release(&s->path);
    buf_release(&s->label);
    buf_release(&s->name);
    free(s);
}

int stream_read_file(const char *path, size_t most, struct buf *text, struct err *e)
{
    const size_t before = text->len;
    struct stream *s;
    ssize_t n;
    if (stream_open(&s, path, e) < 0)
        return -1;
    while ((n = stream_read(s, buf_reserve(text, READ_FILE_BLOCK), READ_FILE_BLOCK, e)) > 0) {
        text->len += (size_t)n;
        if (text->len - before > most) {
            n = err_set(e, ERR_INPUT, "%s: larger than %zu MiB", stream_label(s), most >> 20);
            break;
        }
    }
    stream_close(s);
    return (int)n;
}

/* ---- lines ---- */

#define LINES_PER_BLOCK 4 /* of the longest that are allowed */

void lines_init(struct lines *l, struct stream *s, size_t max)
{
    *l = (struct lines){.stream = s, .max = max, .block = malloc(LINES_PER_BLOCK * max)};
    if (l->block == NULL)
        die("out of memory");
}

void lines_release(struct lines *l)
{
    free(l->block);
    memset(l, 0, sizeof *l);
}

static int give(struct lines *l, size_t len, bool whole)
{
    l->text = l->block + l->at;
    l->len = len;
    l->last = !whole;
    l->at += len + whole;
    l->number++;
    if (l->len > 0 && l->text[l->len - 1] == '\r' && !l->cut)
        l->len--;
    if (l->len >= l->max) {
        l->too_long = true;
        l->len = l->max;
    }
    return 1;
}

int lines_next(struct lines *l, struct err *e)
{
    l->too_long = l->cut = false;
    for (;;) {
        char *end = memchr(l->block + l->at, '\n', l->have - l->at);
        if (end != NULL)
            return give(l, (size_t)(end - l->block) - l->at, true);
        if (l->ended)
            return l->have > l->at ? give(l, l->have - l->at, false) : 0;
        l->cut = l->have - l->at > l->max;
        if (l->cut)
            l->have = l->at + l->max; /* too long already: enough is kept to say so at its end */

        /* Moves what is left to the front and reads on after it. */
        ssize_t n;
        memmove(l->block, l->block + l->at, l->have - l->at);
        l->have -= l->at;
        l->at = 0;
        n = stream_read(l->stream, l->block + l->have, LINES_PER_BLOCK * l->max - l->have, e);
        if (n < 0)
            return -1;
        l->ended = n == 0;
        l->have += (size_t)n;
    }
}

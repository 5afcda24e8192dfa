/* SPDX-License-Identifier: MIT
 *
 * The file, its decoded bytes (plain or unpacked, with a buffer to look ahead), and the members of
 * an archive that is found in them.
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

#define TAR_BLOCK 512

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

/* Up to len decoded bytes; less only at the end or before an error. */
static size_t take(struct stream *s, char *buf, size_t len)
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

/* Passes over a byte order mark. */
static void skip_mark(struct stream *s)
{
    char mark[3];
    size_t n = read_ahead(s, sizeof mark);
    if (text_mark(s->ahead + s->ahead_at, n) == 0 || (s->tar && s->left < sizeof mark))
        return;
    take(s, mark, sizeof mark);
    s->left -= s->tar ? sizeof mark : 0;
}

static int kept_error(const struct stream *s, struct err *e)
{
    return err_set(e, s->err.code, "%s", s->err.msg);
}

/* ---- the members of a tar: ustar, GNU and pax, one after another ---- */

#define LONG_NAME_MAX ((uint64_t)64 << 10)
#define PAX_MAX ((uint64_t)1 << 20)

/* A member as its tar header and the extended headers before it describe it. */
struct tar_member {
    char type;
    uint64_t size;
    bool has_name, has_size; /* from an extended header, which wins */
};

static int tar_damaged(struct stream *s, const char *what)
{
    if (s->err.code == ERR_NONE)
        err_set(&s->err, ERR_INPUT, "%s: %s at byte %llu of the archive", s->path.data, what,
                (unsigned long long)s->taken);
    return -1;
}

/* Takes exactly len bytes of the archive itself. */
static int tar_take(struct stream *s, char *buf, size_t len)
{
    return take(s, buf, len) == len ? 0 : tar_damaged(s, "the archive is cut off");
}

static int tar_pass(struct stream *s, uint64_t len)
{
    char scratch[16384];
    while (len > 0) {
        size_t n = len < sizeof scratch ? (size_t)len : sizeof scratch;
        if (tar_take(s, scratch, n) < 0)
            return -1;
        len -= n;
    }
    return 0;
}

/* Octal digits, or a big-endian number after a byte of 0x80 (GNU). False when it is neither. */
static bool tar_number(const char *field, size_t len, uint64_t *out)
{
    const unsigned char *p = (const unsigned char *)field, *end = p + len;
    *out = 0;
    if (*p & 0x80) {
        if (*p != 0x80)
            return false; /* negative, or too large for us */
        for (p++; p < end; p++) {
            if (*out >> 54 != 0)
                return false;
            *out = *out << 8 | *p;
        }
        return true;
    }
    while (p < end && *p == ' ')
        p++;
    for (; p < end && *p >= '0' && *p <= '7'; p++)
        *out = *out << 3 | (uint64_t)(*p - '0');
    return p == end || *p == ' ' || *p == '\0';
}

/* The checksum counts its own field as blanks. */
static bool is_tar_header(const char *block)
{
    uint64_t want, sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
    return block[0] != '\0' && tar_number(block + 148, 8, &want) && want == sum;
}

static void put_field(struct buf *out, const char *field, size_t len)
{
    buf_put(out, field, strnlen(field, len));
}

/* 1 a header, 0 the end, -1 error. */
static int tar_header(struct stream *s, struct tar_member *m)
{
    char block[TAR_BLOCK];
    uint64_t size;
    size_t n = take(s, block, TAR_BLOCK);
    if (n == 0 && s->err.code == ERR_NONE)
        return 0;
    if (n < TAR_BLOCK)
        return tar_damaged(s, "the archive is cut off");
    if (block[0] == '\0' && memcmp(block, block + 1, TAR_BLOCK - 1) == 0) {
        /* What follows the end of the archive inside a .gz is still checked for damage. */
        char scratch[16384];
        while (take(s, scratch, sizeof scratch) == sizeof scratch)
            continue;
        return s->err.code == ERR_NONE ? 0 : -1;
    }
    if (!is_tar_header(block) || !tar_number(block + 124, 12, &size))
        return tar_damaged(s, "damaged member header before");
    m->type = block[156];
    if (m->type >= '1' && m->type <= '6')
        size = 0; /* links, devices, directories: no content, whatever the field says */
    if (!m->has_size)
        m->size = size;
    if (!m->has_name) {
        buf_reset(&s->name);
        if (memcmp(block + 257, "ustar", 6) == 0 && block[345] != '\0') {
            put_field(&s->name, block + 345, 155);
            buf_putc(&s->name, '/');
        }
        put_field(&s->name, block, 100);
    }
    s->left = m->type == 'x' || m->type == 'g' || m->type == 'L' || m->type == 'K' ? size : m->size;
    s->padding = (TAR_BLOCK - s->left % TAR_BLOCK) % TAR_BLOCK;
    return 1;
}

/* Takes the content of an extended header. */
static int tar_content(struct stream *s, uint64_t max, struct buf *out)
{
    if (s->left > max)
        return tar_damaged(s, "oversized extended header before");
    buf_reset(out);
    if (tar_take(s, buf_reserve(out, (size_t)s->left), (size_t)s->left) < 0)
        return -1;
    out->len = (size_t)s->left;
    out->data[out->len] = '\0';
    s->left = 0;
    return 0;
}

static void pax_record(struct stream *s, struct tar_member *m, const char *key, const char *value,
                       size_t len)
{
    uint64_t size = 0;
    if (strcmp(key, "path") == 0) {
        buf_reset(&s->name);
        put_field(&s->name, value, len);
        m->has_name = true;
    } else if (strcmp(key, "size") == 0) {
        for (size_t i = 0; i < len && value[i] >= '0' && value[i] <= '9' && size >> 54 == 0; i++)
            size = size * 10 + (uint64_t)(value[i] - '0');
        m->size = size;
        m->has_size = true;
    }
}

/* "LENGTH KEY=VALUE\n" and so on. */
static int tar_pax(struct stream *s, struct tar_member *m)
{
    struct buf text = BUF_INIT;
    int rc = tar_content(s, PAX_MAX, &text);
    char *p = text.data, *end = text.data + text.len;
    while (rc == 0 && p < end) {
        char *rest, *equals;
        unsigned long len = strtoul(p, &rest, 10);
        if (*rest != ' ' || len < 5 || len > (size_t)(end - p) || rest + 2 >= p + len ||
            (equals = memchr(rest, '=', (size_t)(p + len - rest))) == NULL) {
            rc = tar_damaged(s, "damaged extended header before");
            break;
        }
        *equals = '\0';
        pax_record(s, m, rest + 1, equals + 1, (size_t)(p + len - 1 - (equals + 1)));
        p += len;
    }
    buf_release(&text);
    return rc;
}

/* Takes what is no member of its own. 1 when it was that, 0 when it is a member, -1 error. */
static int tar_extended(struct stream *s, struct tar_member *m)
{
    switch (m->type) {
    case 'L':
        m->has_name = true;
        return tar_content(s, LONG_NAME_MAX, &s->name) < 0 ? -1 : 1;
    case 'x':
        return tar_pax(s, m) < 0 ? -1 : 1;
    case 'K':
    case 'g':
        return 1;
    default:
        return 0;
    }
}

static bool is_regular(const struct stream *s, const struct tar_member *m)
{
    size_t len = strlen(s->name.data);
    if (m->type != '0' && m->type != '\0' && m->type != '7')
        return false;
    return len > 0 && s->name.data[len - 1] != '/';
}

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

/* Looks at the first bytes of a member: whether it is packed itself. What is wrong with it is said
 * when it is read, so that other members stand. */
static void open_member(struct stream *s)
{
    const size_t want = s->left < STREAM_HEAD ? (size_t)s->left : STREAM_HEAD;
    if (read_ahead(s, want) < want ||
        codec_of((const unsigned char *)s->ahead + s->ahead_at, want) == NULL)
        return;
    s->member = stream_new(s->label.data, s);
    recognise(s->member);
}

int stream_tar_next(struct stream *s, const char **name, struct err *e)
{
    struct tar_member m = {0};
    int rc, special;
    stream_close(s->member);
    s->member = NULL;
    buf_reset(&s->label);
    buf_put(&s->label, s->path.data, s->path.len);
    while ((rc = tar_pass(s, s->left + s->padding)) == 0 && (rc = tar_header(s, &m)) == 1 &&
           (special = tar_extended(s, &m)) >= 0) {
        if (special)
            continue;
        if (is_regular(s, &m)) {
            buf_putc(&s->label, ':');
            buf_put_printable(&s->label, s->name.data, strlen(s->name.data));
            *name = s->name.data;
            skip_mark(s);
            open_member(s);
            return 1;
        }
        memset(&m, 0, sizeof m);
    }
    s->left = s->padding = 0;
    return rc == 0 ? 0 : kept_error(s, e);
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
    n = take(s, buf, len);
    if (s->tar) {
        s->left -= n;
        if (n < len)
            tar_damaged(s, "the archive is cut off");
    }
    return n == 0 && s->err.code != ERR_NONE ? kept_error(s, e) : (ssize_t)n;
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
        return kept_error(s, e);
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
    s->tar = s->archive == NULL && read_ahead(s, TAR_BLOCK) == TAR_BLOCK && is_tar_header(s->ahead);
    if (!s->tar)
        skip_mark(s);
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
        kept_error(s, e);
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

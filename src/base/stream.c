/* SPDX-License-Identifier: MIT
 *
 * Three layers, each a few functions: bytes of the file, decoded bytes (plain or inflated, with a
 * buffer to look ahead), and members of a tar. An error below the last good byte is kept and
 * returned when that byte has been taken.
 */
#include "base/stream.h"

#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define IN_SIZE ((size_t)128 << 10)
#define CHUNK_MAX ((size_t)1 << 30) /* zlib counts in unsigned int */
#define RATIO_FROM ((uint64_t)16 << 20)

#define BLOCK 512
#define LONG_NAME_MAX ((uint64_t)64 << 10)
#define PAX_MAX ((uint64_t)1 << 20)

struct stream {
    int fd;
    bool gzip, tar;
    char *given;      /* the path as it was given; owned */
    struct buf path;  /* printable */
    struct buf label; /* path, or path:member */
    struct err err;   /* kept until the good bytes are taken; code ERR_NONE: none */

    /* compressed bytes */
    unsigned char *in; /* owned */
    uint64_t in_total; /* read from the file */
    z_stream z;
    bool between; /* members of a .gz: before the first, behind each */

    /* decoded bytes */
    char *ahead; /* owned: STREAM_PEEK bytes */
    size_t ahead_at, ahead_len;
    uint64_t decoded; /* in all */
    uint64_t taken;   /* of them */

    /* members of a tar */
    uint64_t left, padding; /* of the member, and behind it */
    struct buf name;
};

/* What a tar header and the extended headers before it say of a member. */
struct member {
    char type;
    uint64_t size;
    bool has_name, has_size; /* from an extended header, which wins */
};

/* ---- the file ---- */

/* Fills buf; less only at the end of the file. */
static ssize_t file_read(struct stream *s, void *buf, size_t len)
{
    size_t n = 0;
    while (n < len) {
        ssize_t got = read(s->fd, (char *)buf + n, len - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(&s->err, ERR_INPUT, "%s: %s", s->path.data, strerror(errno));
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

/* ---- gzip ---- */

static unsigned long long gzip_offset(const struct stream *s)
{
    return s->in_total - s->z.avail_in;
}

static int gzip_damaged(struct stream *s, const char *what)
{
    return err_set(&s->err, ERR_INPUT, "%s: %s at byte %llu", s->path.data, what, gzip_offset(s));
}

/* Makes sure there is input. 1 yes, 0 the file is at its end, -1 error. */
static int gzip_input(struct stream *s)
{
    ssize_t n;
    if (s->z.avail_in > 0)
        return 1;
    n = file_read(s, s->in, IN_SIZE);
    if (n <= 0)
        return (int)n;
    s->in_total += (uint64_t)n;
    s->z.next_in = s->in;
    s->z.avail_in = (uInt)n;
    return 1;
}

/* Between members: zero bytes are padding, anything but a new member is damage. */
static int gzip_next_member(struct stream *s)
{
    if (*s->z.next_in == 0) {
        s->z.next_in++;
        s->z.avail_in--;
        return 0;
    }
    if (*s->z.next_in != 0x1f)
        return gzip_damaged(s, "something other than gzip data follows");
    s->between = false;
    return inflateReset(&s->z) == Z_OK ? 0 : gzip_damaged(s, "cannot start inflating");
}

static int gzip_step(struct stream *s)
{
    int rc;
    if (s->between)
        return gzip_next_member(s);
    rc = inflate(&s->z, Z_NO_FLUSH);
    if (rc == Z_MEM_ERROR)
        die("out of memory");
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return gzip_damaged(s, "damaged gzip data");
    s->between = rc == Z_STREAM_END;
    return 0;
}

/* Inflates until buf is full, the file ends or something is wrong; what is good counts. */
static size_t gzip_read(struct stream *s, void *buf, size_t len)
{
    s->z.next_out = buf;
    s->z.avail_out = (uInt)len;
    while (s->z.avail_out > 0) {
        int more = gzip_input(s);
        if (more == 0 && !s->between)
            gzip_damaged(s, "gzip data is cut off");
        if (more <= 0 || gzip_step(s) < 0)
            break;
    }
    return len - s->z.avail_out;
}

static int gzip_begin(struct stream *s)
{
    s->gzip = s->between = true;
    s->in = malloc(IN_SIZE);
    if (s->in == NULL || inflateInit2(&s->z, 15 + 16) != Z_OK) /* 16: gzip, not zlib */
        die("out of memory");
    s->z.next_in = s->in;
    s->z.avail_in = 0;
    return 0;
}

/* ---- decoded bytes ---- */

static void check_inflated(struct stream *s)
{
    if (s->decoded > STREAM_INFLATED_MAX)
        err_set(&s->err, ERR_INPUT, "%s: inflates to more than %llu GiB", s->path.data,
                (unsigned long long)(STREAM_INFLATED_MAX >> 30));
    else if (s->decoded > RATIO_FROM && s->decoded / STREAM_RATIO_MAX > s->in_total)
        err_set(&s->err, ERR_INPUT, "%s: inflates more than %d-fold", s->path.data,
                STREAM_RATIO_MAX);
}

/* Less than len only at the end or before an error, which is then in s->err. */
static size_t decode(struct stream *s, char *buf, size_t len)
{
    size_t n = 0;
    while (n < len && s->err.code == ERR_NONE) {
        size_t chunk = len - n < CHUNK_MAX ? len - n : CHUNK_MAX, got;
        if (s->gzip) {
            got = gzip_read(s, buf + n, chunk);
        } else {
            ssize_t read = file_read(s, buf + n, chunk);
            got = read > 0 ? (size_t)read : 0;
        }
        n += got;
        s->decoded += got;
        if (s->gzip)
            check_inflated(s);
        if (got < chunk)
            break;
    }
    return n;
}

/* Makes up to `want` bytes ready in s->ahead; how many there are. */
static size_t look_ahead(struct stream *s, size_t want)
{
    size_t have = s->ahead_len - s->ahead_at;
    if (have >= want)
        return want;
    memmove(s->ahead, s->ahead + s->ahead_at, have);
    s->ahead_at = 0;
    s->ahead_len = have + decode(s, s->ahead + have, want - have);
    return s->ahead_len;
}

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

static int kept_error(const struct stream *s, struct err *e)
{
    return err_set(e, s->err.code, "%s", s->err.msg);
}

/* ---- tar ---- */

static unsigned long long tar_offset(const struct stream *s)
{
    return s->taken;
}

static int tar_damaged(struct stream *s, const char *what)
{
    if (s->err.code == ERR_NONE)
        err_set(&s->err, ERR_INPUT, "%s: %s at byte %llu of the archive", s->path.data, what,
                tar_offset(s));
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

/* Octal digits, or a big-endian number behind a byte of 0x80 (GNU). False when it is neither. */
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
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
    return block[0] != '\0' && tar_number(block + 148, 8, &want) && want == sum;
}

static bool is_zero_block(const char *block)
{
    return block[0] == '\0' && memcmp(block, block + 1, BLOCK - 1) == 0;
}

static void put_field(struct buf *out, const char *field, size_t len)
{
    buf_put(out, field, strnlen(field, len));
}

static void header_name(struct stream *s, const char *block)
{
    buf_reset(&s->name);
    if (memcmp(block + 257, "ustar", 6) == 0 && block[345] != '\0') {
        put_field(&s->name, block + 345, 155);
        buf_putc(&s->name, '/');
    }
    put_field(&s->name, block, 100);
}

/* The end of the archive is reached: what follows inside a .gz is still checked for damage. */
static int tar_end(struct stream *s)
{
    char scratch[16384];
    while (take(s, scratch, sizeof scratch) == sizeof scratch)
        continue;
    return s->err.code == ERR_NONE ? 0 : -1;
}

/* 1 a header, 0 the end, -1 error. */
static int tar_header(struct stream *s, struct member *m)
{
    char block[BLOCK];
    uint64_t size;
    size_t n = take(s, block, BLOCK);
    if (n == 0 && s->err.code == ERR_NONE)
        return 0;
    if (n < BLOCK)
        return tar_damaged(s, "the archive is cut off");
    if (is_zero_block(block))
        return tar_end(s);
    if (!is_tar_header(block) || !tar_number(block + 124, 12, &size))
        return tar_damaged(s, "damaged member header before");
    m->type = block[156];
    if (m->type >= '1' && m->type <= '6')
        size = 0; /* links, devices, directories: no content, whatever the field says */
    if (!m->has_size)
        m->size = size;
    if (!m->has_name)
        header_name(s, block);
    s->left = m->type == 'x' || m->type == 'g' || m->type == 'L' || m->type == 'K' ? size : m->size;
    s->padding = (BLOCK - s->left % BLOCK) % BLOCK;
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

static void pax_record(struct stream *s, struct member *m, const char *key, const char *value,
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
static int tar_pax(struct stream *s, struct member *m)
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
static int tar_extended(struct stream *s, struct member *m)
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

static bool is_regular(const struct stream *s, const struct member *m)
{
    size_t len = strlen(s->name.data);
    if (m->type != '0' && m->type != '\0' && m->type != '7')
        return false;
    return len > 0 && s->name.data[len - 1] != '/';
}

int stream_tar_next(struct stream *s, const char **name, struct err *e)
{
    struct member m = {0};
    int rc, special;
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
            return 1;
        }
        memset(&m, 0, sizeof m);
    }
    s->left = s->padding = 0;
    return rc == 0 ? 0 : kept_error(s, e);
}

/* ---- the interface ---- */

ssize_t stream_read(struct stream *s, void *buf, size_t len, struct err *e)
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

ssize_t stream_peek(struct stream *s, const char **head, struct err *e)
{
    size_t want = s->tar && s->left < STREAM_PEEK ? (size_t)s->left : STREAM_PEEK;
    size_t n = look_ahead(s, want);
    *head = s->ahead + s->ahead_at;
    if (n == 0 && s->err.code != ERR_NONE)
        return kept_error(s, e);
    return (ssize_t)n;
}

bool stream_is_tar(const struct stream *s)
{
    return s->tar;
}

const char *stream_plain_path(const struct stream *s)
{
    return s->gzip || s->tar ? NULL : s->given;
}

const char *stream_label(const struct stream *s)
{
    return s->label.data;
}

/* Looks at the first bytes: gzip inside the file, then tar inside that. */
static int recognise(struct stream *s)
{
    static const char zstd[] = "\x28\xb5\x2f\xfd";
    unsigned char magic[4];
    ssize_t n = pread(s->fd, magic, sizeof magic, 0);
    if (n < 0)
        return err_set(&s->err, ERR_INPUT, "%s: %s", s->path.data, strerror(errno));
    if (n == 4 && memcmp(magic, zstd, 4) == 0)
        return err_set(&s->err, ERR_INPUT, "%s: zstd data; unpack it first", s->path.data);
    if (n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        gzip_begin(s);
    s->tar = look_ahead(s, BLOCK) == BLOCK && is_tar_header(s->ahead);
    return 0;
}

int stream_open(struct stream **out, const char *path, struct err *e)
{
    struct stream *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL || (s->ahead = malloc(STREAM_PEEK)) == NULL || (s->given = strdup(path)) == NULL)
        die("out of memory");
    buf_init(&s->path);
    buf_init(&s->label);
    buf_init(&s->name);
    buf_put_printable(&s->path, path, strlen(path));
    buf_put(&s->label, s->path.data, s->path.len);
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
    if (s->fd >= 0)
        close(s->fd);
    if (s->gzip)
        inflateEnd(&s->z);
    free(s->in);
    free(s->ahead);
    free(s->given);
    buf_release(&s->path);
    buf_release(&s->label);
    buf_release(&s->name);
    free(s);
}

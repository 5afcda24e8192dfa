/* SPDX-License-Identifier: MIT
 *
 * The members of a tar, one after another: ustar, GNU and pax.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/stream_internal.h"

#include <stdlib.h>
#include <string.h>

#define LONG_NAME_MAX ((uint64_t)64 << 10)
#define PAX_MAX ((uint64_t)1 << 20)

/* A member as its tar header and the extended headers before it describe it. */
struct tar_member {
    char type;
    uint64_t size;
    bool has_name, has_size; /* from an extended header, which wins */
};

int stream_tar_damaged(struct stream *s, const char *what)
{
    if (s->err.code == ERR_NONE)
        err_set(&s->err, ERR_INPUT, "%s: %s at byte %llu of the archive", s->path.data, what,
                (unsigned long long)s->taken);
    return -1;
}

/* Takes exactly len bytes of the archive itself. */
static int tar_take(struct stream *s, char *buf, size_t len)
{
    return stream_take(s, buf, len) == len ? 0 : stream_tar_damaged(s, "the archive is cut off");
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
bool stream_is_tar_header(const char *block)
{
    uint64_t want, sum = 0;
    for (size_t i = 0; i < STREAM_TAR_BLOCK; i++)
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
    char block[STREAM_TAR_BLOCK];
    uint64_t size;
    size_t n = stream_take(s, block, STREAM_TAR_BLOCK);
    if (n == 0 && s->err.code == ERR_NONE)
        return 0;
    if (n < STREAM_TAR_BLOCK)
        return stream_tar_damaged(s, "the archive is cut off");
    if (block[0] == '\0' && memcmp(block, block + 1, STREAM_TAR_BLOCK - 1) == 0) {
        /* Bytes behind the end of the archive inside a .gz are still checked for damage. */
        char scratch[16384];
        while (stream_take(s, scratch, sizeof scratch) == sizeof scratch)
            continue;
        return s->err.code == ERR_NONE ? 0 : -1;
    }
    if (!stream_is_tar_header(block) || !tar_number(block + 124, 12, &size))
        return stream_tar_damaged(s, "damaged member header before");
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
    s->padding = (STREAM_TAR_BLOCK - s->left % STREAM_TAR_BLOCK) % STREAM_TAR_BLOCK;
    return 1;
}

/* Takes the content of an extended header. */
static int tar_content(struct stream *s, uint64_t max, struct buf *out)
{
    if (s->left > max)
        return stream_tar_damaged(s, "oversized extended header before");
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
            rc = stream_tar_damaged(s, "damaged extended header before");
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
            stream_skip_mark(s);
            stream_open_member(s);
            return 1;
        }
        memset(&m, 0, sizeof m);
    }
    s->left = s->padding = 0;
    return rc == 0 ? 0 : stream_kept_error(s, e);
}

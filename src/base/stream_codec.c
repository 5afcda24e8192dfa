/* SPDX-License-Identifier: MIT
 *
 * Unpacks a stream: gzip and zstd.
 */
#include "base/stream_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#ifdef SPECTER_HAVE_ZSTD
#include <zstd.h>
#endif

/* ---- gzip, one member after another ---- */

struct gzip {
    z_stream z;
    bool between; /* members: before the first, behind each */
};

static bool gz_is(const unsigned char *head, size_t len)
{
    return len >= 2 && head[0] == 0x1f && head[1] == 0x8b;
}

static void *gz_begin(void)
{
    struct gzip *g = calloc(1, sizeof *g);
    if (g == NULL || inflateInit2(&g->z, 15 + 16) != Z_OK) /* 16: gzip, not zlib */
        die("out of memory");
    g->between = true;
    return g;
}

static void gz_end(void *state)
{
    struct gzip *g = state;
    inflateEnd(&g->z);
    free(g);
}

static int gz_step(struct stream *s, struct gzip *g)
{
    int rc;
    if (g->between) {
        /* Between members: zero bytes are padding, anything but a new member is damage. */
        if (s->in[s->in_at] == 0) {
            s->in_at++;
            return 0;
        }
        if (s->in[s->in_at] != 0x1f)
            return stream_damaged(s, "something other than gzip data follows");
        g->between = false;
        return inflateReset(&g->z) == Z_OK ? 0 : stream_damaged(s, "cannot start inflating");
    }
    g->z.next_in = s->in + s->in_at;
    g->z.avail_in = (uInt)(s->in_len - s->in_at);
    rc = inflate(&g->z, Z_NO_FLUSH);
    s->in_at = s->in_len - g->z.avail_in;
    if (rc == Z_MEM_ERROR)
        die("out of memory");
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return stream_damaged(s, "damaged gzip data");
    g->between = rc == Z_STREAM_END;
    return 0;
}

static size_t gz_read(struct stream *s, void *buf, size_t len)
{
    struct gzip *g = s->state;
    g->z.next_out = buf;
    g->z.avail_out = (uInt)len;
    while (g->z.avail_out > 0) {
        int more = stream_input(s);
        if (more == 0 && !g->between)
            stream_damaged(s, "gzip data is cut off");
        if (more <= 0 || gz_step(s, g) < 0)
            break;
    }
    return len - g->z.avail_out;
}

const struct codec stream_gz = {"gzip", gz_is, gz_begin, gz_end, gz_read};

/* ---- zstd, one frame after another; where the build found no zstd, a line that says so ---- */

/* A frame, or one that is to be skipped: parallel compressors begin with such. */
static bool zst_is(const unsigned char *head, size_t len)
{
    if (len < 4 || head[3] != (head[0] == 0x28 ? 0xfd : 0x18))
        return false;
    return (head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f) ||
           ((head[0] & 0xf0) == 0x50 && head[1] == 0x2a && head[2] == 0x4d);
}

#ifdef SPECTER_HAVE_ZSTD
struct zst {
    ZSTD_DStream *z;
    bool between; /* frames: before the first, behind each */
};

static void *zst_begin(void)
{
    struct zst *d = calloc(1, sizeof *d);
    if (d == NULL || (d->z = ZSTD_createDStream()) == NULL)
        die("out of memory");
    d->between = true;
    return d;
}

static void zst_end(void *state)
{
    struct zst *d = state;
    ZSTD_freeDStream(d->z);
    free(d);
}

/* The library refuses by itself a frame that wants a window of more than 128 MiB. */
static int zst_step(struct stream *s, struct zst *d, ZSTD_outBuffer *out)
{
    char what[128];
    ZSTD_inBuffer in = {s->in, s->in_len, s->in_at};
    size_t rc = ZSTD_decompressStream(d->z, out, &in);
    bool between = d->between;
    s->in_at = in.pos;
    d->between = rc == 0;
    if (!ZSTD_isError(rc))
        return 0;
    if (between && s->in_total > s->in_len)
        return stream_damaged(s, "something other than zstd data follows");
    snprintf(what, sizeof what, "damaged zstd data (%s)", ZSTD_getErrorName(rc));
    return stream_damaged(s, what);
}

static size_t zst_read(struct stream *s, void *buf, size_t len)
{
    struct zst *d = s->state;
    ZSTD_outBuffer out = {buf, len, 0};
    while (out.pos < out.size) {
        size_t before = out.pos;
        int more = stream_input(s);
        if (more < 0 || (more == 0 && d->between) || zst_step(s, d, &out) < 0)
            break;
        /* at the end of the file it may have held back what did not fit into buf */
        if (more == 0 && out.pos == before && !d->between) {
            stream_damaged(s, "zstd data is cut off");
            break;
        }
    }
    return out.pos;
}

const struct codec stream_zst = {"zstd", zst_is, zst_begin, zst_end, zst_read};
#else
const struct codec stream_zst = {"zstd", zst_is, NULL, NULL, NULL};
#endif

/* SPDX-License-Identifier: MIT
 *
 * zstd, one frame behind another; where the build found no zstd, a line that says so.
 */
#include "base/stream_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* A frame, or one that is to be skipped: parallel compressors begin with such. */
static bool zst_is(const unsigned char *head, size_t len)
{
    if (len < 4 || head[3] != (head[0] == 0x28 ? 0xfd : 0x18))
        return false;
    return (head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f) ||
           ((head[0] & 0xf0) == 0x50 && head[1] == 0x2a && head[2] == 0x4d);
}

#ifdef SPECTER_HAVE_ZSTD
#include <zstd.h>

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
static int step(struct stream *s, struct zst *d, ZSTD_outBuffer *out)
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
        if (more < 0 || (more == 0 && d->between) || step(s, d, &out) < 0)
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

/* SPDX-License-Identifier: MIT
 *
 * gzip, one member behind another.
 */
#include "base/stream_internal.h"

#include <stdlib.h>
#include <zlib.h>

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

/* Between members: zero bytes are padding, anything but a new member is damage. */
static int next_member(struct stream *s, struct gzip *g)
{
    if (s->in[s->in_at] == 0) {
        s->in_at++;
        return 0;
    }
    if (s->in[s->in_at] != 0x1f)
        return stream_damaged(s, "something other than gzip data follows");
    g->between = false;
    return inflateReset(&g->z) == Z_OK ? 0 : stream_damaged(s, "cannot start inflating");
}

static int step(struct stream *s, struct gzip *g)
{
    int rc;
    if (g->between)
        return next_member(s, g);
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
        if (more <= 0 || step(s, g) < 0)
            break;
    }
    return len - g->z.avail_out;
}

const struct codec stream_gz = {"gzip", gz_is, gz_begin, gz_end, gz_read};

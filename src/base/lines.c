/* SPDX-License-Identifier: MIT */
#include "base/lines.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 4 /* longest lines that the block holds */

void lines_init(struct lines *l, struct stream *s, size_t max)
{
    *l = (struct lines){.stream = s, .max = max, .block = malloc(BLOCKS * max)};
    if (l->block == NULL)
        die("out of memory");
}

void lines_release(struct lines *l)
{
    free(l->block);
    memset(l, 0, sizeof *l);
}

/* Moves what is left to the front and reads on behind it. */
static int fill(struct lines *l, struct err *e)
{
    ssize_t n;
    memmove(l->block, l->block + l->at, l->have - l->at);
    l->have -= l->at;
    l->at = 0;
    n = stream_read(l->stream, l->block + l->have, BLOCKS * l->max - l->have, e);
    if (n < 0)
        return -1;
    l->ended = n == 0;
    l->have += (size_t)n;
    return 0;
}

static int give(struct lines *l, size_t len, bool whole)
{
    l->text = l->block + l->at;
    l->len = len;
    l->last = !whole;
    l->at += len + whole;
    l->number++;
    if (l->len > 0 && l->text[l->len - 1] == '\r')
        l->len--;
    if (l->len >= l->max) {
        l->too_long = true;
        l->len = l->max;
    }
    return 1;
}

int lines_next(struct lines *l, struct err *e)
{
    l->too_long = false;
    for (;;) {
        char *end = memchr(l->block + l->at, '\n', l->have - l->at);
        if (end != NULL)
            return give(l, (size_t)(end - l->block) - l->at, true);
        if (l->ended)
            return l->have > l->at ? give(l, l->have - l->at, false) : 0;
        if (l->have - l->at > l->max)
            l->have = l->at + l->max; /* too long already: enough is kept to say so at its end */
        if (fill(l, e) < 0)
            return -1;
    }
}

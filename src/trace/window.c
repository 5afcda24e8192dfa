/* SPDX-License-Identifier: MIT */
#include "trace/window.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_SIZE ((size_t)1 << 20)
#define WINDOW_MAX ((size_t)64 << 20) /* largest single value */

void window_init(struct window *w, struct stream *stream, const char *label)
{
    memset(w, 0, sizeof *w);
    w->stream = stream;
    w->label = label;
    ARRAY_GROW(w->text, w->cap, WINDOW_SIZE);
}

void window_release(struct window *w)
{
    free(w->text);
    w->text = NULL;
}

uint64_t window_offset(const struct window *w)
{
    return w->before + w->at;
}

bool window_more(struct window *w)
{
    size_t room;
    ssize_t n;
    if (w->ended)
        return false;
    w->before += w->at;
    w->have -= w->at;
    memmove(w->text, w->text + w->at, w->have);
    w->at = 0;
    if (w->have == WINDOW_MAX)
        return false;
    if (w->have == w->cap)
        ARRAY_ROOM(w->text, w->cap, w->cap + 1);
    room = w->cap < WINDOW_MAX ? w->cap : WINDOW_MAX; /* arrays grow by more than is asked for */
    n = stream_read(w->stream, w->text + w->have, room - w->have, &w->err);
    w->ended = n <= 0;
    w->have += n > 0 ? (size_t)n : 0;
    return n > 0;
}

char window_next(struct window *w)
{
    for (;;) {
        for (; w->at < w->have; w->at++) {
            char c = w->text[w->at];
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
                return c;
        }
        if (!window_more(w))
            return '\0';
    }
}

int window_broken(const struct window *w, uint64_t at, const char *reason, struct err *e)
{
    if (w->err.code != ERR_NONE)
        return err_set(e, ERR_INPUT, "%s", w->err.msg);
    if (w->have >= WINDOW_MAX)
        reason = "a single value of more than 64 MiB";
    return err_set(e, ERR_INPUT, "%s: byte %llu: %s", w->label, (unsigned long long)at, reason);
}

/* A number is whole only when something follows. */
int window_take(struct window *w, window_value *take, void *ctx, struct err *e)
{
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        take(ctx, &j);
        if ((j.error == NULL && j.p == j.end) || json_is_cut(&j)) {
            if (window_more(w))
                continue;
        }
        if (j.error != NULL)
            return window_broken(w, window_offset(w) + json_offset(&j), j.error, e);
        w->at += json_offset(&j);
        return 0;
    }
}

void window_skip(void *ctx, struct json *j)
{
    (void)ctx;
    json_skip(j);
}

/* Steps over an opening bracket, and over a comma before all but the first; then over the closing
 * one. 1: a value follows, 0: the end, -1 with e filled. */
static int next_item(struct window *w, bool *first, char end, struct err *e)
{
    char c = window_next(w);
    if (c == end) {
        w->at++;
        return 0;
    }
    if (!*first && c != ',')
        return window_broken(w, window_offset(w),
                             c == '\0'    ? "cut off"
                             : end == '}' ? "expected ',' or '}'"
                                          : "expected ',' or ']'",
                             e);
    w->at += !*first;
    *first = false;
    window_next(w);
    return 1;
}

int window_list(struct window *w, int (*element)(void *ctx, struct window *w, struct err *e),
                void *ctx, struct err *e)
{
    bool first = true;
    int rc;
    w->at++;
    while ((rc = next_item(w, &first, ']', e)) > 0) {
        if (element(ctx, w, e) < 0)
            return -1;
    }
    return rc;
}

static void take_key(void *key, struct json *j)
{
    struct json_text text = json_string(j);
    size_t len = text.len < WINDOW_KEY_MAX ? text.len : WINDOW_KEY_MAX - 1;
    char *to = key;
    if (len > 0)
        memcpy(to, text.p, len);
    to[len] = '\0';
}

int window_object(struct window *w,
                  int (*member)(void *ctx, struct window *w, const char *key, struct err *e),
                  void *ctx, struct err *e)
{
    char key[WINDOW_KEY_MAX];
    bool first = true;
    int rc;
    w->at++;
    while ((rc = next_item(w, &first, '}', e)) > 0) {
        if (window_take(w, take_key, key, e) < 0)
            return -1;
        if (window_next(w) != ':')
            return window_broken(w, window_offset(w), "expected ':'", e);
        w->at++;
        window_next(w);
        if (member(ctx, w, key, e) < 0)
            return -1;
    }
    return rc;
}

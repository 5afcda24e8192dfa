/* SPDX-License-Identifier: MIT
 *
 * A window over a JSON file that is larger than memory should be: it holds one value at a time,
 * grows for a large one up to a bound, and never holds the whole file. Around the values the file's
 * outermost object and its lists are walked here.
 *
 *     struct window w;
 *     window_init(&w, stream, label);
 *     rc = window_object(&w, member, ctx, e);
 *
 *     static int member(void *ctx, struct window *w, const char *key, struct err *e)
 *     {
 *         if (strcmp(key, "nodes") == 0)
 *             return window_list(w, element, ctx, e);
 *         return window_take(w, window_skip, ctx, e);
 *     }
 */
#ifndef SPECTER_TRACE_WINDOW_H
#define SPECTER_TRACE_WINDOW_H

#include "base/err.h"
#include "base/json.h"
#include "base/stream.h"

struct window {
    struct stream *stream; /* borrowed */
    const char *label;     /* borrowed: names the file in messages */
    char *text;            /* owned */
    size_t at, have, cap;
    uint64_t before; /* bytes of the file in front of text */
    bool ended;
    struct err err; /* of the stream; code ERR_NONE: none */
};

void window_init(struct window *w, struct stream *stream, const char *label);
void window_release(struct window *w);

/* Returns the offset in the file at which it stands. */
uint64_t window_offset(const struct window *w);

/* Brings more text after what is not consumed yet, which may move. False when there is no more. */
bool window_more(struct window *w);

/* The next byte that is not white space, not consumed; '\0' at the end of the file. */
char window_next(struct window *w);

/* -1 with e filled: what is wrong at this byte of the file. */
int window_broken(const struct window *w, uint64_t at, const char *reason, struct err *e);

/* Consumes the value that it stands at by `take`, which is called again from the start of the value
 * when the text was cut. On an error nothing is consumed. */
typedef void window_value(void *ctx, struct json *j);
int window_take(struct window *w, window_value *take, void *ctx, struct err *e);
window_value window_skip;

/* Walks the list that it stands at; element() consumes one. */
int window_list(struct window *w, int (*element)(void *ctx, struct window *w, struct err *e),
                void *ctx, struct err *e);

/* The same of an object. Keys come without their escapes decoded, and cut to WINDOW_KEY_MAX. */
#define WINDOW_KEY_MAX 64
int window_object(struct window *w,
                  int (*member)(void *ctx, struct window *w, const char *key, struct err *e),
                  void *ctx, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A pull scanner for JSON in memory: the caller asks for what it wants, everything else is skipped
 * without being built. Nothing is allocated; text is a view into the caller's bytes.
 *
 *     struct json j;
 *     struct json_text key;
 *     json_init(&j, line, len);
 *     json_enter(&j, '{');
 *     while (json_next_key(&j, &key)) {
 *         if (json_text_is(key, "dur"))
 *             dur_ns = json_time_ns(&j, 1000);
 *         else
 *             json_skip(&j);
 *     }
 *     if (j.error != NULL) ... j.error says what, json_offset(&j) where
 *
 * Errors are sticky: after the first one every call returns false, 0 or an empty text, so that a
 * reader checks once, at the end. Nesting is bounded by JSON_DEPTH_MAX.
 */
#ifndef SPECTER_BASE_JSON_H
#define SPECTER_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf;
struct cJSON;
struct err;

#define JSON_DEPTH_MAX 64

struct json {
    const char *start, *p, *end; /* borrowed; end is drawn back to p on an error */
    const char *room;            /* so far may bytes be looked at: end, or json_room() */
    const char *error;           /* NULL, or a constant text: the first thing that was wrong */
    bool first;                  /* directly after an opening bracket */
    int depth;
};

/* A string as it stands between its quotes (escapes not yet decoded), or a key. */
struct json_text {
    const char *p;
    uint32_t len; /* 16 bytes in all: texts travel in registers */
    bool escaped; /* contains a backslash: decode with json_decode() before showing it */
};

void json_init(struct json *j, const char *text, size_t len); /* NULL with len 0: no text */

/* So many bytes after the text may be looked at, the first of them a control byte, as the newline
 * is behind a line in a block: what stands at the end of the text is then as fast as the rest. */
void json_room(struct json *j, size_t behind);

size_t json_offset(const struct json *j); /* bytes from the start to where it stands or failed */

/* Returns whether the error is that the text ended too early, so that more text might mend it. */
bool json_is_cut(const struct json *j);

/* Returns the kind of the next value: one of { [ " t f n - 0 (any digit gives '0'), or '\0' at the
 * end or on error. */
char json_peek(struct json *j);

/* Steps into an object or array; `bracket` is '{' or '['. false when something else is there: null
 * is consumed, anything else is an error (json_peek() first where more kinds are allowed). */
bool json_enter(struct json *j, char bracket);

/* The next key of the object, or element of the array, entered last; false at its end (which is
 * consumed) or on error. After true the caller consumes exactly one value. */
bool json_next_key(struct json *j, struct json_text *key);
bool json_next_item(struct json *j);

/* Skip one value of any kind; and the rest of the object or array entered last, its end included.
 * Skipped text is only checked for its brackets and quotes. */
void json_skip(struct json *j);
void json_leave(struct json *j);

/* After the outermost value: an error when anything but white space follows. */
void json_end(struct json *j);

/* Values. null is accepted everywhere and read as `none` (or an empty text, whose p is NULL);
 * anything else of the wrong kind is an error. Integers outside their type are an error; a fraction
 * is cut off. A double is within one unit of the last place. */
struct json_text json_string(struct json *j);
int64_t json_i64(struct json *j, int64_t none);
uint64_t json_u64(struct json *j, uint64_t none);
double json_double(struct json *j, double none);
bool json_bool(struct json *j, bool none);

/* A decimal number of `unit_ns`-nanosecond units (1000: microseconds; at most 10^9), as exact
 * integer nanoseconds: 1694128201436255.123 us loses nothing, where a double would. What is finer
 * than a nanosecond is rounded, half away from zero. `none` for null. */
int64_t json_time_ns(struct json *j, int64_t unit_ns, int64_t none);

/* Compares the bytes as they stand: a name spelled with escapes is another name. */
static inline bool json_text_is(struct json_text text, const char *name)
{
    size_t len = strlen(name);
    return text.len == len && (len == 0 || memcmp(text.p, name, len) == 0);
}

/* Appends the text with its escapes decoded to UTF-8 (a lone surrogate becomes U+FFFD). */
void json_decode(struct json_text text, struct buf *out);

/* Appends `text` as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. */
void json_quote(struct buf *out, const char *text, size_t len);

/* ---- a small document as a tree (json_file.c) ----
 *
 * One that specter wrote, or a person did: the file's whole text, an object of at most 16 MiB. The
 * caller deletes it. NULL with e filled (ERR_INPUT). */
struct cJSON *json_file_read(const char *path, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Inside of profile_json.c: one profile's object, key by key, by the tables of profile.h. The
 * scanner of base/json.h reads rather than cJSON: it knows where in the text it stands, so that
 * every message has a line, and it hands out keys one by one, so that a second one of a name is
 * seen.
 */
#ifndef SPECTER_MODEL_PROFILE_READER_H
#define SPECTER_MODEL_PROFILE_READER_H

#include "base/json.h"
#include "model/profile.h"

struct arena;

struct profile_reader {
    struct json j;
    struct arena *arena; /* of what is read */
    const char *label;   /* the text's, in messages */
    struct err *e;
};

/* Fills e with "label:line: what", line being where the scanner stands or, when it failed, its own
 * error. Returns -1. */
int reader_fail(struct profile_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* -1 with e filled when the scanner failed, else 0. */
int reader_check(struct profile_reader *r);

/* "KEY: WANTED is needed, not what stands next". Returns -1. */
int reader_wrong_type(struct profile_reader *r, const char *key, const char *wanted);

/* A text with its escapes decoded, the arena's. */
char *reader_text(struct profile_reader *r, struct json_text text);

/* Characters that no name has and no terminal should see. */
bool reader_has_control(const char *text);

/* A list of `count` names by number. */
struct name_list {
    const char *(*at)(const void *list, size_t i);
    const void *list;
    size_t count;
};

struct name_list name_list_of(const char *const *words); /* ended by NULL; may be NULL: none */
struct name_list names_of_kind(const struct profile_kind *kind);

/* The number of `name`; n.count when it is none of them. */
size_t names_find(struct name_list n, const char *name);

/* The next key of the object, one of `n`: 1 and its number, 0 at the object's end, -1 for a key
 * that is unknown or was seen before (`seen` starts at 0). */
int reader_next_key(struct profile_reader *r, struct name_list n, uint64_t *seen, size_t *number);

/* The object that stands next as a new profile of the arena, of kind's struct. NULL with e filled.
 */
void *reader_profile(struct profile_reader *r, const struct profile_kind *kind);

#endif

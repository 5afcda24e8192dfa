/* SPDX-License-Identifier: MIT
 *
 * Profiles as JSON: what `specter profiles NAME --json` prints and users write. Text in, text out;
 * who opens the file is the caller (cmd/hardware.h), so that nothing in src/model does I/O.
 *
 *     {"gpu": {"name": "my_h100", "base": "h100_sxm", "gemm": {"mma_share": 0.7}},
 *      "network": {"name": "my_net", "base": "dgx_h100_400g", "nics_per_node": 4}}
 *
 * A text may hold
 *   - an object with a "gpu", a "network" or both;
 *   - what `specter profiles NAME --json` prints: "gpus" and "networks" with one profile in all, or
 *     one of each;
 *   - a single profile, which is then recognised by its keys.
 *
 * Keys are the members of struct gpu_profile and struct network_profile (profile.h) and one object
 * for each group of fitted parameters ("gemm"; "node", "net": params.h). "base" names a compiled-in
 * profile to start from; without it figures start at 0, and the texts that profile.h calls needed
 * must be there. A name is always needed. Figures are numbers in the unit of the field.
 *
 * Errors are ERR_INPUT, "LABEL:LINE: what": unknown key (with the nearest known one), key given
 * twice, wrong type, beyond the bounds of the field, needed key missing.
 */
#ifndef SPECTER_MODEL_PROFILE_JSON_H
#define SPECTER_MODEL_PROFILE_JSON_H

#include "base/json.h"
#include "model/profile.h"

struct arena;
struct cJSON;

/* Either may be NULL. Both and their texts live in the arena they were read into. */
struct profile_pair {
    const struct gpu_profile *gpu;
    const struct network_profile *network;
};

/* Reads text[0..len); `label` stands for it in messages. 0, or -1 with e filled. */
int profile_json_read(struct profile_pair *out, struct arena *a, const char *label,
                      const char *text, size_t len, struct err *e);

/* A profile as an object that profile_json_read() gives back unchanged. Texts that are NULL and
 * fitted parameters that are the class's (0) are left out. The caller deletes it. */
struct cJSON *profile_json_object(const struct profile_kind *kind, const void *profile);

/* Several as {"schema": ..., "gpus": [...], "networks": [...]}, to be filled with the objects. */
#define PROFILE_JSON_SCHEMA "specter.profiles/1"

/* ---- reading an object key by key, for what else users write in JSON ----
 *
 * The scanner of base/json.h reads rather than cJSON: it knows where in the text it stands, so that
 * every message has a line, and it hands out keys one by one, so that a second one of a name is
 * seen. */
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

/* The next key of the object, one of `n`: 1 and its number, 0 at the object's end, -1 for a key
 * that is unknown or was seen before (`seen` starts at 0). */
int reader_next_key(struct profile_reader *r, struct name_list n, uint64_t *seen, size_t *number);

#endif

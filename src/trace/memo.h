/* SPDX-License-Identifier: MIT
 *
 * Texts of a trace, in the form in which everybody may use them: decoded, without control bytes,
 * interned. A trace repeats the same few hundred texts a million times; the memo finds a text that
 * was seen before by looking at a few of its bytes, and remembers a number with each.
 *
 *     struct memo_slot *slot = memo_find(&m, run, text);
 *     if (slot->value < 0)
 *         slot->value = run_comm(run, slot->text, slot->len, size);
 */
#ifndef SPECTER_TRACE_MEMO_H
#define SPECTER_TRACE_MEMO_H

#include "base/json.h"
#include "trace/run.h"

#define MEMO_SLOTS 512

struct memo_slot {
    const char *text; /* interned in the run; never NULL in a slot that memo_find() returned */
    uint64_t key;     /* of its bytes */
    uint32_t len;
    int32_t value; /* the caller's; -1 when the text is new, or was pushed out by another */
};

struct memo {
    struct memo_slot slots[MEMO_SLOTS];
};

void memo_init(struct memo *m);

/* A text that need not be found again fast: decoded and interned in the run, as it is. */
const char *run_intern(struct run *run, struct json_text text);

/* The slot of a text, valid until the next call. A NULL text is "". */
struct memo_slot *memo_find(struct memo *m, struct run *run, struct json_text text);

#endif

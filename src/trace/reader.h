/* SPDX-License-Identifier: MIT
 *
 * The trace formats. To add one: write src/trace/<format>.c with a sniff and a read function and
 * add its line to READERS; load_find.c finds the reader by content. Every reader bounds what it
 * believes (lengths, depths, counts) and reports damage with file and place.
 */
#ifndef SPECTER_TRACE_READER_H
#define SPECTER_TRACE_READER_H

#include "base/json.h"
#include "base/stream.h"
#include "trace/run.h"

#include <string.h>

/* The run that a file belongs to, as its head tells it. */
struct identity {
    char run[128];   /* "" unknown */
    int64_t rank;    /* -1 unknown */
    int64_t real_ns; /* when it began; 0 unknown */
    bool known;      /* the head holds a record that says so */
    bool member;     /* and one of a communicator */
};

struct reader {
    const char *name;

    /* Files of this format say more of the work in files of that one: where both are in a folder,
     * these are read too, after all of those. NULL: they stand alone. */
    const struct reader *completes;

    /* Files of this format are another form of files of that one, and are read with them. */
    const struct reader *form_of;

    /* Returns whether the file at `path`, of this format or of form_of, is made from the one at
     * `from`, which is of this format. Then `from` is not read where both are there. NULL: no. */
    bool (*made_from)(const char *path, const char *from);

    /* Length of the part that begins `from` and every path that made_from() accepts with it, so
     * that it need not be asked for every pair of files; 0: no file is made from this one. NULL
     * where made_from is. */
    size_t (*from_stem)(const char *from);

    /* Looks at the first bytes of a file (up to 64 KiB): true when this reader understands it. */
    bool (*sniff)(const char *head, size_t len);

    /* For a format whose content has no mark: is a file of this name one? Asked when no reader has
     * recognised the bytes. NULL: the content tells. */
    bool (*named)(const char *label, const char *head, size_t len);

    /* Tells which run the file is of, from its head. NULL: the format names no runs; see `grouped`.
     */
    void (*identify)(const char *head, size_t len, struct identity *id);

    /* Reads one file (head included again: the stream is fresh) into run, adding the ranks it
     * holds. `label` names the file in messages. -1 with e filled when nothing of it is usable;
     * partial damage becomes a note and 0. */
    int (*read)(struct run *run, struct stream *s, const char *label, struct err *e);

    /* A file is read without a look at what the run holds already: then several are read at once,
     * each into a run of its own, and put together in order (run_absorb.c). false: one after
     * another into the one run. */
    bool apart;

    /* The files of one job are found by what they hold (recordings.c), with `apart` only; else,
     * without identify(), all files of a folder are of one. */
    bool grouped;
    bool unique_comms; /* two jobs have no communicator of one id */

    /* Files of this format say more of a job than its traces do: those in a folder of the traces
     * that are read, or above it, are read into the finished run. Alone they are no run. */
    bool beside;

    /* Beside traces of a format that is read, run->summary of such a file is a note of the run. */
    bool summed_up;

    /* After the last file, before run_finish(): what needs all ranks. NULL: nothing. */
    void (*finish)(struct run *run);
};

#define READERS(X) \
    X(jsonl)       \
    X(kineto)      \
    X(xla)         \
    X(et)          \
    X(nsys)        \
    X(nsysrep)     \
    X(inspector)   \
    X(flight)      \
    X(ras)         \
    X(job)

#define X(name) extern const struct reader reader_##name;
READERS(X)
#undef X

/* The rank that a file's name tells: the number after the last "rank" in it ("rank3", "Rank_03",
 * "rank-3", "rank=3"), else after the last "worker"; -1 none. A word that goes on to the left
 * ("frank3") and a "local_rank" tell nothing, nor does a number of RUN_RANKS_MAX or more. */
int rank_in_name(const char *label);

/* For sniff(): the word stands in the head of the file. */
static inline bool head_has(const char *head, size_t len, const char *word)
{
    return memmem(head, len, word, strlen(word)) != NULL;
}

/* ---- what specter writes itself ----
 *
 * Chrome traces that specter itself writes (export --format chrome, replay's timeline) begin with
 * OWN_EXPORT_HEAD. They look like a profiler's, and often lie beside the recordings that they were
 * made of: the readers pass them over. */

#define OWN_EXPORT_HEAD "{\"displayTimeUnit\":\"ns\",\"generator\":\"specter\",\"traceEvents\":["

static inline bool is_own_export(const char *head, size_t len)
{
    return len >= sizeof OWN_EXPORT_HEAD - 1 &&
           memcmp(head, OWN_EXPORT_HEAD, sizeof OWN_EXPORT_HEAD - 1) == 0;
}

/* XLA's traces look like Kineto's from far, too: each GPU is a process, and named first. */
#define XLA_DEVICE "/device:GPU:"

static inline bool is_xla(const char *head, size_t len)
{
    return head_has(head, len, "\"process_name\"") && head_has(head, len, XLA_DEVICE);
}

/* ---- texts of a trace (memo.c) ----
 *
 * Texts become safe to use anywhere: decoded, without control bytes, interned. A trace repeats the
 * same few hundred texts a million times; the memo finds a text that was seen before by looking at
 * a few of its bytes, and remembers a number with each.
 *
 *     struct memo_slot *slot = memo_find(&m, run, text);
 *     if (slot->value < 0)
 *         slot->value = run_comm(run, slot->text, slot->len, size); */

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

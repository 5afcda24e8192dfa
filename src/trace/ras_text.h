/* SPDX-License-Identifier: MIT
 *
 * What the text of `ncclras` says, line by line, before it becomes members (ras_text.c reads,
 * ras_sets.c concludes); for these two alone.
 *
 * The text names a communicator only where something is wrong with it, and there counts ranks in
 * sets that have one thing in common (so many calls of one function, an error). It lists the ranks
 * of a set only where they are few (up to 10 and a quarter of all; with -v less than a half).
 */
#ifndef SPECTER_TRACE_RAS_TEXT_H
#define SPECTER_TRACE_RAS_TEXT_H

#include "trace/ras.h"

/* What the ranks of a set have in common. */
enum ras_set_kind {
    SET_NOTHING,    /* a status that says nothing of calls */
    SET_SILENT,     /* no answer */
    SET_ELSEWHERE,  /* no member, by their own answer */
    SET_ABORTED,    /* in ncclCommAbort() */
    SET_INIT_ERROR, /* value: ncclResult_t */
    SET_ASYNC_ERROR,
    SET_CALLS, /* value: so many of the function */
};

struct ras_set {
    uint32_t comm; /* index into the communicators of the file */
    uint8_t kind;
    uint8_t function; /* index into ras_member.of */
    int64_t value;
    int64_t count;         /* ranks in it */
    size_t first, nlisted; /* those that are listed */
    uint64_t line;
};

struct ras_listed {
    int32_t comm_rank;
    int64_t pid, device;
    const char *host;
};

/* A line of the table of groups. */
struct ras_group {
    int64_t comms, size, ranks; /* communicators, ranks of each, GPUs of all */
    bool mismatch;              /* a section of the warnings has each of them, */
    int64_t sections;           /* of which so many are there */
};

struct ras_text {
    struct ras_file *f;
    const char *end;          /* of the snapshot, in the file's text */
    uint64_t line;            /* of the file, from 1 */
    size_t indent;            /* bytes before each line, as a launcher's "3: " */
    int64_t gpus;             /* of the job; 0 unknown */
    bool warnings;            /* the last section has begun, */
    bool open;                /* and in it one of a communicator without a set yet */
    struct ras_group *groups; /* owned; by number */
    size_t ngroups, cap_groups;
    struct ras_set *sets; /* owned */
    size_t nsets, cap_sets;
    struct ras_listed *listed; /* owned */
    size_t nlisted, cap_listed;
    struct ras_listed *dead; /* owned: processes, without ranks */
    size_t ndead, cap_dead;
    int64_t *group_of; /* owned: of each communicator of the file */
    size_t cap_group_of;
    bool *joins; /* owned: of each communicator, whether its ranks are ranks of the run */
    size_t cap_joins;
};

#define RAS_TEXT_RANKS_MAX (1 << 17) /* that a table of a few lines may claim */

/* Returns whether all is there that the table announces, and every rank is counted. */
bool ras_is_whole(const struct ras_text *t);

/* Makes members of the sets. 0; -1: no communicators are counted, or of too many ranks. */
int ras_conclude(struct ras_text *t);

/* Notes what the text does not say, and what it says of communicators whose ranks it does not
 * number: in notes, and in the file's summary. After ras_conclude(). */
void ras_note_sets(struct ras_text *t);

#endif

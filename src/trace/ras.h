/* SPDX-License-Identifier: MIT
 *
 * A snapshot of NCCL's RAS on its way to a run; for ras*.c alone. Both forms of what `ncclras`
 * prints, JSON (ras.c) and text (ras_text.c), become communicators and their members here, and
 * ras_ranks.c makes ranks of them.
 *
 * A snapshot counts the collectives that each member of each communicator has called, by function;
 * the sum is the number of the next one. Where members have called different numbers, the first
 * collective that one has not called becomes an operation of those who have, not finished, at the
 * time of the snapshot: that is what they wait in, if the job hangs.
 */
#ifndef SPECTER_TRACE_RAS_H
#define SPECTER_TRACE_RAS_H

#include "base/buf.h"
#include "trace/run.h"

/* More calls of one member, of all functions together, are not believed. */
#define RAS_CALLS_MAX ((int64_t)1 << 56)

/* Counts by enum specter_comm_op, and of collectives whose function is unknown (NCCL 2.24). */
#define RAS_FUNCTIONS (SPECTER_COMM_OP_COUNT + 1)

/* A member's state, as its process tells it. */
enum ras_answer {
    RAS_HERE,
    RAS_ELSEWHERE, /* it answers, and is no member: left the communicator, or has not joined it */
    RAS_SILENT,    /* it does not answer: no counts */
    RAS_DEAD,      /* nor does it answer other processes */
};

/* One rank of a communicator. */
struct ras_member {
    uint32_t comm;     /* index into the snapshot's communicators */
    int32_t comm_rank; /* there */
    int64_t pid, device;
    const char *host; /* interned; "" unknown */
    int64_t calls;    /* collectives, of all functions that are counted */
    int64_t of[RAS_FUNCTIONS];
    int error, init_error; /* ncclResult_t: asynchronous, and of the initialisation; 0: none */
    bool aborted;
    uint8_t answer; /* enum ras_answer */
    bool apart;     /* its rank in the job is unknown: it is noted alone */
};

struct ras_comm {
    const char *id;   /* interned; unique in the snapshot */
    const char *name; /* interned; NCCL's hash, as its log has it */
    int64_t size;
    bool unclear;           /* how many each of its ranks has called is unknown */
    int comm;               /* of the run; -1 */
    int64_t least, most;    /* calls of its members */
    uint32_t fewest, count; /* a member with the fewest calls; members that answered */
};

struct ras_file {
    struct run *run;
    const char *label;
    char *text; /* owned */
    size_t len;
    struct ras_comm *comms; /* owned */
    size_t ncomms, cap_comms;
    struct ras_member *members; /* owned */
    size_t nmembers, cap_members;
    int64_t at_ns;      /* of the snapshot, since 1970; 0 unknown */
    size_t refused;     /* counts of the snapshot that are not believed */
    int64_t all_comms;  /* communicators of the job, of which the snapshot may name a few */
    size_t snapshots;   /* in the file, of which the last whole one counts; */
    uint64_t counts;    /* one number of all counts of the last, */
    bool unchanged;     /* which are those of the one before it */
    struct buf summary; /* owned: what it says as a whole, in sentences */
};

/* Adds an empty one; the pointer holds until the next. */
struct ras_comm *ras_add_comm(struct ras_file *f);

/* A member of no counts of the communicator that was added last. */
struct ras_member ras_member(const struct ras_file *f);

/* Keeps the member, where it has a place in its communicator. */
void ras_add_member(struct ras_file *f, const struct ras_member *m);

/* Forgets all communicators and members. */
void ras_clear(struct ras_file *f);

/* A whole snapshot was read: compares its counts with those of the one before it. */
void ras_count_snapshot(struct ras_file *f);

/* The text form: fills communicators and members. 0, or -1 with e filled. */
int ras_read_text(struct ras_file *f, struct err *e);
bool ras_is_text(const char *head, size_t len);

const char *ras_error_name(int error);       /* NCCL's name of a result */
const char *ras_function_name(int function); /* an index into ras_member.of */

/* "rank 5 of communicator 0x1a2b (GPU 1 of process 1005 on 10.0.0.2)". */
void ras_put_member(struct buf *out, const struct ras_file *f, const struct ras_member *m);

/* Makes ranks, operations and notes of communicators and members, whose order changes. */
void ras_add_ranks(struct ras_file *f);

/* ---- the text form ----
 *
 * The facts in the text of `ncclras`, line by line, before it becomes members (ras_text.c reads,
 * ras_sets.c concludes); for these two alone.
 *
 * The text names a communicator only where something is wrong with it, and there counts ranks in
 * sets that have one thing in common (so many calls of one function, an error). It lists the ranks
 * of a set only where they are few (up to 10 and a quarter of all; with -v less than a half). */

/* The property that the ranks of a set have in common. */
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
    /* A process that does not answer: the last that a list of them names, and how many there are */
    struct ras_listed lost;
    size_t nlost;
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

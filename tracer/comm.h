/* SPDX-License-Identifier: MIT
 *
 * The communicators of this process: who they are in the job, and how far their members have
 * counted.
 *
 * Identity. NCCL gives communicators no public name, so one is computed that comes out equal on
 * every member without any talk between them:
 *
 *   from a unique id   a hash of its 128 bytes
 *   from several       a hash of all of them, in their order, which is the same on all members
 *   split              a hash of the parent's identity, how many splits of that parent came before,
 *                      and the colour
 *   shrink             a hash of the parent's identity, the ranks that are left out, and how many
 *                      shrinks of that parent left out the same: their members are the same, while
 *                      those that were left out of another one did not count it
 *   grow               none: members of the old communicator and new ones share nothing that the
 *                      library lets them see
 *   ncclCommInitAll    a hash of host, process and a counter: all members are in this process
 *
 * Handles are looked up without a lock in every hook (comm_table.c). NCCL may write a handle only
 * at the end of the group, or behind the program's back when the communicator is non-blocking: such
 * a creation waits as *late* until the handle is used. A handle that was never seen being made (the
 * library was loaded later) gets no identity, only rank and size.
 *
 * There is room for up to 8,192 communicators at a time. Operations on those beyond are recorded
 * without a communicator, at no more cost than others; how many were made is told in the closing
 * record.
 */
#ifndef SPECTER_TRACER_COMM_H
#define SPECTER_TRACER_COMM_H

#include "record.h"
#include "resolve.h"

#include <nccl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define COMM_NAME_MAX 64
#define COMM_UNKNOWN INT32_MIN

/* Numbers are taken when NCCL accepts a call. What is called within a group runs only when the end
 * of the group goes well; if it does not, the group's numbers are given back. */
struct comm_counter {
    _Atomic int64_t next;
    _Atomic uint64_t in_group; /* the last group that took some, + 1, << 32 | how many it took */
};

/* Counters of all peers; pages that no peer touches cost nothing. Stays with the slot of the table
 * for good, because a thread may still count for a communicator that another one has aborted. */
struct p2p_counters {
    int64_t peers;               /* room for so many */
    struct comm_counter count[]; /* sends to, then receives from each peer */
};

/* The creation of a communicator. */
struct comm_init {
    ncclComm_t *handle;  /* the program's: where NCCL writes it */
    ncclComm_t before;   /* what stood there before the call */
    uint64_t id, parent; /* 0: none */
    uint64_t nccl_hash;  /* NCCL's own of the unique id; 0: made otherwise */
    int64_t split_seq;   /* COMM_UNKNOWN, as all below */
    int32_t rank, size;  /* unknown: NCCL is asked for it */
    int32_t device, color, key;
    int32_t nodes;    /* unknown: NCCL has not told (plugin.h) */
    const char *name; /* borrowed; NULL: none */
};

/* Shrinks of one parent that leave out the same ranks. More sets than there is room for have no
 * identity. */
#define COMM_SHRINKS_MAX 8

struct comm_shrinks {
    _Atomic uint64_t left_out; /* comm_hash_ranks(); 0: free */
    struct comm_counter made;
};

enum comm_state {
    COMM_FREE,
    COMM_FILLING,
    COMM_WAITING, /* for the end of the group that is to make it */
    COMM_LATE,    /* until its handle is used */
    COMM_LIVE,
    COMM_ENDED
};
enum comm_known { COMM_TO_ASK, COMM_ASKING, COMM_KNOWN };

struct traced_comm {
    _Atomic(ncclComm_t) handle; /* the key; see comm_table.c */
    struct traced_comm
        *_Atomic next; /* in the same bucket; of creations that wait: of the same group */
    struct comm_init init;
    struct comm_counter collectives, splits;
    _Atomic uint32_t group; /* the last that took numbers, + 1 */
    _Atomic uint8_t state;  /* enum comm_state */
    _Atomic uint8_t known;  /* enum comm_known: rank and size are what they will ever be */
    bool written;           /* the writer's own */
    _Atomic bool renewed;   /* something is known that was not when it was written */
    _Atomic bool captured;  /* operations on it went into a graph */
    _Atomic int32_t nodes;  /* COMM_UNKNOWN */
    uint32_t number;        /* of the slot */
    _Atomic uint32_t link;  /* its bucket; while it is free, the next free one's number + 1 */
    int64_t time_ns;
    /* These three are made when they are needed, and stay with the slot. */
    char *name;                           /* [COMM_NAME_MAX]: what init.name points to */
    struct comm_shrinks *_Atomic shrinks; /* [COMM_SHRINKS_MAX] */
    struct p2p_counters *_Atomic p2p;
};

uint64_t comm_hash(const void *bytes, size_t len, uint64_t seed); /* never 0 */

/* Of a set: the same in any order. Never 0. */
uint64_t comm_hash_ranks(const int *ranks, int count);

extern const struct comm_init comm_init_unknown; /* nothing is known */

/* Registers a new communicator; one that had the handle before has ended. NULL: there is no room.
 */
struct traced_comm *comm_add(ncclComm_t handle, const struct comm_init *init);

/* Keeps a creation whose handle NCCL has yet to write, in front of the creations `others`; returns
 * all of them. Each waits until comm_end_wait(). */
struct traced_comm *comm_keep(const struct comm_init *init, struct traced_comm *others);

/* Registers the creation under its handle; with NULL it is made late, or else dropped. Returns the
 * one that was kept before it. */
struct traced_comm *comm_end_wait(struct traced_comm *kept, ncclComm_t handle, bool is_late);

struct traced_comm *comm_look_up(ncclComm_t handle); /* NULL: never added */

/* The same for a communicator that is ready for use and that no other thread may end meanwhile.
 * Called before the real call that uses it: adds one that is missing, without identity, and asks
 * NCCL for rank, size and device where the creation did not tell. `from`: any real function of the
 * library that made it. NULL: there is no room. */
struct traced_comm *comm_find(ncclComm_t handle, function from);

void comm_end(ncclComm_t handle); /* before the real destroy: the handle may come back at once */

/* Communicators with an identity that there was no room for. */
uint64_t comm_without_room(void);

/* Returns whether the slot still is this handle's: another thread may have ended the communicator.
 */
bool comm_is(const struct traced_comm *c, ncclComm_t handle);

/* The numbers of the next collective, and of the next send or receive; -1 when the identity is not
 * known, because numbers would not be those of the other members. `group`: the number of the group
 * that the call is in, or NO_ID. */
int64_t comm_next_collective(struct traced_comm *c, uint32_t group);
int64_t comm_next_p2p(struct traced_comm *c, int peer, bool is_recv, uint32_t group);

/* The group has failed: nothing of it runs, and what is called in its place gets its numbers. Of a
 * communicator that another thread uses meanwhile, which NCCL forbids, numbers may be taken twice.
 */
void comm_give_back(uint32_t group);

/* NCCL has told how many nodes it spans: its line is written again when it is out already. */
void comm_set_nodes(struct traced_comm *c, int32_t nodes);

/* The communicator whose unique id has this hash of NCCL's, where this process has that rank; NULL.
 */
struct traced_comm *comm_of_nccl_hash(uint64_t hash, int32_t rank);

/* Identity of the split that is made now. Counts it. */
uint64_t comm_split_id(struct traced_comm *parent, int color, uint32_t group, int64_t *split_seq);

/* Likewise of a shrink. left_out: comm_hash_ranks(). *split_seq: how many that left out the same
 * came before; COMM_UNKNOWN when there is no identity for want of room. */
uint64_t comm_shrink_id(struct traced_comm *parent, uint64_t left_out, uint32_t group,
                        int64_t *split_seq);

/* For the writer: calls `write` for each communicator that is new or renewed, and frees those that
 * ended. Cheap when nothing has changed. */
void comm_visit_new(void (*write)(const struct traced_comm *c, void *arg), void *arg);

void comm_reset(void);

/* ---- between comm.c and comm_table.c ----
 *
 * The table of communicators by handle, and where they are kept: chunks of slots, mapped as they
 * are needed, a list of those that are free, and a hash table whose buckets are lists of those in
 * use. A look-up takes no lock and costs the same however many there are, and so does finding out
 * that there is no room for one more.
 *
 * A slot never moves and is never unmapped. Any thread enters one; only the writer takes one out,
 * so that a list loses no slot that two threads are at. A look-up that meets a slot which moves to
 * another list meanwhile may miss what it looks for, and then looks again. */

#define COMM_TABLE_MAX 8192 /* slots */

/* The key of one that has ended: a look-up passes it. */
#define COMM_GONE ((ncclComm_t)(uintptr_t)1)

/* Takes a slot, in state COMM_FILLING and in no list; NULL: there is no room. Gives back one that
 * is in no list. */
struct traced_comm *comm_table_take(void);
void comm_table_give_back(struct traced_comm *c);

void comm_table_enter(struct traced_comm *c, ncclComm_t handle); /* it is COMM_LIVE then */
void comm_table_remove(struct traced_comm *c); /* the writer's: one that has ended */

/* All slots that were ever taken, by number; NULL after the last. */
struct traced_comm *comm_table_at(uint32_t number);

/* For tests: how many slots a look-up of the handle has to look at. */
uint32_t comm_table_steps(ncclComm_t handle);

void comm_table_reset(void);

#endif

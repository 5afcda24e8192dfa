/* SPDX-License-Identifier: MIT
 *
 * The memory that the members of a communicator share, one file each, whose name goes as soon as
 * all have it open: nothing is left behind, however the job ends.
 *
 * Collectives meet in two slots, used in turns: a rank comes to operation k+2 only after k+1 is
 * over for it, and k+1 is over only after all came to it, which they do after k. Messages meet in a
 * channel a pair of ranks and direction, by the same reasoning with two places.
 */
#ifndef EMU_SEGMENT_H
#define EMU_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "calendar.h"

#define SEGMENT_SPLITS 32

struct segment_member {
    _Atomic uint32_t here;
    pid_t pid;
    uint64_t host;          /* equal on all members of a node */
    unsigned bus;           /* PCI bus of its device, by which a node's devices are told apart */
    unsigned gpu;           /* its device's number in the whole machine */
    uint64_t init_clock;    /* when it came */
    _Atomic uint64_t clock; /* of the thread that issues: see emu_publish() */
    _Atomic uint32_t blocked;
    _Atomic uint64_t issued;    /* launches on this communicator */
    _Atomic uint64_t completed; /* of these */
    _Atomic uint64_t stalled;   /* start of its first work that waits for its turn, or 0 */
    _Atomic uint32_t bell;      /* rung when something was posted for this rank's messages */
};

/* One rank's arguments of a collective, and what it gets back (out). */
struct ask {
    _Atomic uint64_t came; /* number of the collective + 1 */
    uint64_t start, end;   /* end: out */
    uint64_t bytes;
    int op, type, redop, root;
    int algorithm, protocol;    /* enum collective_algorithm, collective_protocol */
    double rate_max;            /* GB/s of its channels, or 0 */
    struct calendar busy, used; /* of its ports: by others; by this one, out */
};

struct arrival_slot {
    _Atomic uint32_t arrived;
    _Atomic uint32_t settled;        /* number of the collective + 1 */
    _Atomic uint32_t gathered, turn; /* of a barrier between pieces of the buffers */
};

/* One member at a split of its communicator, or at its growth. */
struct split {
    _Atomic uint64_t came; /* number of the split + 1 */
    uint64_t clock;
    int color, key;
    uint64_t grown_key; /* growth: of the communicator to be, from the root alone; else 0 */
    pid_t grown_pid;
};

struct post {
    uint64_t start, bytes;
    unsigned sharing;
    double rate_max;      /* GB/s of its channels, or 0 */
    struct calendar busy; /* of its ports, by others */
};

#define SEGMENT_SIGNALS 64

struct channel {
    _Atomic uint32_t sent, received; /* posts so far */
    _Atomic uint32_t put, taken;     /* pieces after the heads of messages, so far */
    struct post send[2], recv[2];
    _Atomic uint32_t signals;            /* so far */
    uint64_t signal_at[SEGMENT_SIGNALS]; /* when each of the last ones is there */
};

struct segment;

struct segment *segment_open(const char *path, unsigned ranks, unsigned rank, size_t head,
                             size_t message_head);
void segment_close(struct segment *s);

/* Counts this rank in; the last one to come removes the file's name. */
void segment_arrive(struct segment *s, uint64_t clock, uint64_t host, unsigned bus, unsigned gpu);
bool segment_complete(const struct segment *s); /* all came */

unsigned segment_ranks(const struct segment *s);
unsigned segment_rank(const struct segment *s);
size_t segment_head(const struct segment *s);         /* bytes of a post or a result */
size_t segment_message_head(const struct segment *s); /* bytes of a message's place */
struct segment_member *segment_member(struct segment *s, unsigned rank);
/* The node of a member, by its first member. All must have come. */
unsigned segment_node(struct segment *s, unsigned rank);

/* Another member on the device of this rank, or -1. All must have come. */
int segment_beside(struct segment *s);

struct arrival_slot *segment_slot(struct segment *s, uint64_t number);
struct ask *segment_ask(struct segment *s, uint64_t number, unsigned rank);
char *segment_post(struct segment *s, uint64_t number, unsigned rank);
char *segment_result(struct segment *s, uint64_t number);
struct split *segment_split(struct segment *s, uint64_t number, unsigned rank);
_Atomic uint32_t *segment_split_bell(struct segment *s);
_Atomic uint32_t *segment_member_bell(struct segment *s);
struct channel *segment_channel(struct segment *s, unsigned from, unsigned to);
char *segment_message(struct segment *s, unsigned from, unsigned to, uint32_t number);

/* Sleeps until *word differs from `seen`, or about a second. */
void segment_sleep(_Atomic uint32_t *word, uint32_t seen);
void segment_wake(_Atomic uint32_t *word);

/* Returns whether no member's process has a thread that runs or could; the caller's own does not
 * count. */
bool segment_idle(struct segment *s);

/* Returns whether a member that came is gone: its process has ended. */
bool segment_gone(struct segment *s, unsigned rank);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Inside timeline files: timeline.c (the file), timeline_rank.c (what happened on one rank),
 * timeline_event.c (events).
 */
#ifndef SPECTER_REPORT_TIMELINE_INTERNAL_H
#define SPECTER_REPORT_TIMELINE_INTERNAL_H

#include "base/buf.h"
#include "report/timeline.h"
#include "sim/replay/job.h"

struct sink;

struct timeline_file {
    struct sink *sink;
    struct buf text; /* not written yet */
    uint64_t events;
    int64_t gpus;
    size_t ranks;  /* the first ones */
    uint32_t keep; /* last iterations; 0: everything */
    bool predicted;
};

enum slot_what { SLOT_OP, SLOT_WAIT, SLOT_UNTRACED, SLOT_CALL, SLOT_SYNC_CALL };

/* Something on a track. */
struct timeline_slot {
    int64_t start_ns, end_ns;
    uint32_t track; /* of the rank: host threads, then streams (timeline_rank.c) */
    uint32_t index; /* operation, sync call, or launches */
    uint8_t what;
};

/* A rank while it is written. */
struct timeline_rank {
    struct timeline_file *file;
    const struct replay_job *job;
    size_t r;
    const struct rank *rank;
    const struct program_rank *place;
    struct job_view view;
    bool predicted;
    int64_t shift_ns; /* added to every time */
    int pid;
    struct timeline_slot *list; /* owned */
    size_t count, cap;
};

/* Where the next event goes, its comma written. */
struct buf *timeline_event(struct timeline_file *t);

/* Returns whether the operation is written. */
bool timeline_takes(const struct timeline_file *t, const struct rank_steps *it, size_t op);

void timeline_rank(struct timeline_file *t, const struct replay_job *job, size_t r, bool predicted);

/* Returns whether it was launched together with the operation before it, in a group. */
bool timeline_follows(const struct timeline_rank *tr, uint32_t op);

/* Names of a process or thread. */
void timeline_name_process(const struct timeline_rank *tr);
void timeline_name_thread(const struct timeline_rank *tr, uint32_t tid, const char *name);

/* A slice with its arguments and arrows. */
void timeline_slice(const struct timeline_rank *tr, const struct timeline_slot *slot, uint32_t tid);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The places of work in a step: the n-th of its kind that a rank calls for. Two recordings of one
 * job have the same places, and each place has a time of its own: what a collective takes depends
 * on what shares its links, what a GEMM takes on which communication overlaps it, and of the host's
 * calls some are in the device's way and others are not.
 *
 *     struct work_where where;
 *     work_where_init(&where, altered);                                    of each run
 *     work_places_add(&places, where.ops[rank][op], (struct work_sample){.ns = ns});
 *     places.slots += where.slots;                                         after all of its samples
 *     uint32_t at = work_places_find(&places, where.ops[rank][op]);        of any run
 *     place_times_mean(&places.list[at]).ns
 *     work_where_release(&where);
 *     work_places_release(&places);
 */
#ifndef SPECTER_COMPARE_WORK_PLACES_H
#define SPECTER_COMPARE_WORK_PLACES_H

#include "base/idmap.h"
#include "sim/replay/altered.h"

#define WORK_UNCOUNTED UINT32_MAX

enum work_what {
    WORK_OPERATION,
    WORK_UNTIMED, /* kernels without times */
    WORK_CPU
};

/* The place of one operation, transfer, launch or CPU time of a run. */
struct work_place {
    int64_t group; /* hash of what, kind of work and global rank; 0: it was not issued */
    int64_t work;  /* hash of kind and nth, the same on all ranks; 0: not a computation */
    uint32_t nth;  /* occurrence in its step, of its group, from 0 */
    uint32_t slot; /* number of its step among those that count; WORK_UNCOUNTED */
    uint32_t rank; /* index into run->ranks */
    uint8_t what;  /* enum work_what */
};

/* In one step, or a mean. */
struct work_sample {
    double ns; /* of an operation or a transfer, CPU time; 0 of an untimed kernel: not known */
    double taken_ns; /* of that: what other, overlapping communication took of it */
    double lag_ns;   /* transfer: by how much this rank's part ends later than the first one's */
    double lead_ns;  /* transfer: by how much its last member begins after the one before it */
};

/* The times of the work of one place. */
struct place_times {
    struct slot_sample {
        size_t slot; /* of the steps that count, of all runs */
        struct work_sample of;
    } * samples;            /* [n] by slot; owned */
    size_t n, cap;          /* number of samples */
    struct work_sample sum; /* of all samples */
    size_t known;           /* of n: samples with a time */
    struct work_sample known_sum;
    size_t modelled; /* of n: such work never ran without overlapping communication: taken_ns
                        is the model's, and 0 of a transfer */
    size_t idle;     /* of n: on an idle stream, so that ns includes the launch */
    int64_t work;    /* as of the place */
    uint32_t group;  /* index into groups */
    uint32_t rank;   /* index into run->ranks */
    uint8_t what;    /* enum work_what */
};

/* The steps of one run among the slots of all runs of its side. */
struct slot_range {
    uint32_t first, count;
};

/* The places of all runs of a side. */
struct work_places {
    struct idmap ids, groups;
    struct place_times *list; /* [ids.count] owned */
    size_t cap;
    uint32_t slots; /* steps of all runs that were added before */
};

/* The places of the work of one run. */
struct work_where {
    struct work_place **ops;      /* [nranks][nops] group 0: it was not issued; owned */
    struct work_place **launches; /* [nranks][nlaunches] kernels without times; owned */
    struct work_place *cpu;       /* [program->ncpu] owned */
    size_t nranks;
    uint32_t *slot_of; /* [steps] owned */
    uint32_t slots;    /* steps that count */
};

void work_where_init(struct work_where *s, const struct altered *a);
void work_where_release(struct work_where *s);

/* Adds a sample of a step that counts. The pointer lasts until the next place is added. */
struct place_times *work_places_add(struct work_places *w, struct work_place place,
                                    struct work_sample sample);
uint32_t work_places_find(const struct work_places *w, struct work_place place); /* IDMAP_NONE */

/* Returns the mean of what it takes without overlapping communication, and of what that took, where
 * they are known; 0. */
double place_times_own(const struct place_times *p);
double place_times_taken(const struct place_times *p);

/* That of a step; NULL: it has none. */
const struct work_sample *place_times_sample(const struct place_times *p, size_t slot);
struct work_sample place_times_mean(const struct place_times *p);

/* Marks, by base->groups, those that have the same places on both sides: aligned[groups.count]. */
void work_places_align(const struct work_places *base, const struct work_places *test,
                       bool *aligned);

void work_places_release(struct work_places *w);

#endif

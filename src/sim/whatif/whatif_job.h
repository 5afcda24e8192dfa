/* SPDX-License-Identifier: MIT
 *
 * Inside a replay: the variation of one job. For job.c, replay.c and vary_*.c.
 */
#ifndef SPECTER_SIM_WHATIF_WHATIF_JOB_H
#define SPECTER_SIM_WHATIF_WHATIF_JOB_H

#include "sim/target/retarget.h"
#include "sim/whatif/whatif.h"

struct job;
struct target;

/* Where a cost of the program stands in the iterations of its rank: costs of one slot are the same
 * operation in each of them. */
struct vary_slot {
    uint32_t slot; /* VARY_NONE: in no iteration */
    uint32_t iteration;
};

#define VARY_NONE UINT32_MAX

struct vary_job {
    struct vary_opts opts;
    double *slow_work;    /* [world] by rank of the recorded job; owned */
    double *slow_link;    /* [world] likewise */
    double host_speed;    /* of the simulation under way */
    bool wrong_work;      /* in the simulation under way some of the first are not 1, */
    bool wrong_link;      /* of the second; */
    bool *placed;         /* [opts.nfaults] and which faults lie in the job; owned */
    int64_t *base_ns;     /* [ncosts] of the last simulation, without faults; owned */
    struct vary_slot *of; /* [ncosts] owned; NULL without jitter */
    uint32_t nslots;
};

/* Learns from the recording what `opts` asks for. vary_job_release() in either case. */
int vary_job_make(struct job *job, const struct vary_opts *opts, struct err *e);
void vary_job_release(struct vary_job *v);

static inline bool vary_drawn(const struct vary_job *v)
{
    return v->opts.jitter != JITTER_OFF;
}

/* ---- faults.c ---- */

/* Are the ranks and nodes that faults name in the job at one of these scales, at least? -1 with e
 * filled (ERR_USAGE). */
int vary_check_faults(struct job *job, const int64_t *scales, size_t n, struct err *e);

/* Who is slow in the simulation to come; t is told of links, hosts are set. */
void vary_place_faults(struct job *job, const struct target *target, struct retarget *t);

/* Is anything wrong in the simulation under way? */
bool vary_faulty(const struct job *job);

/* Takes note of a cost and gives what it is under the faults. */
int64_t vary_note_cost(struct job *job, size_t cost, int64_t ns);
int64_t vary_slowed(const struct job *job, size_t cost, int64_t ns);
double vary_host_slowness(const struct job *job, size_t rank); /* index in the run */

/* CPU time of the rank's hosts takes `slow` times what it takes on the target. */
void vary_set_hosts(const struct job *job, size_t rank, double slow);

/* Names the faults that lie outside the job of so many GPUs, and counts them. */
size_t vary_say_absent(struct job *job, int64_t gpus);

/* Names the reason where faults change nothing. */
void vary_say_faults(struct job *job, const struct retarget *faulty, double sound_ns,
                     double wrong_ns);

/* Cleared memory for n elements; dies when there is none. free(). */
void *vary_zeroed(size_t n, size_t size);

/* ---- jitter_slots.c, jitter_learn.c ---- */

/* job->vary.of: slots are positions in an iteration; those of iterations that differ from most have
 * none. */
void vary_assign_slots(struct job *job);

/* rep->variation, and what is said about it. */
void vary_measure(struct job *job);

/* ---- jitter_draw.c ---- */

/* Draws of the simulation that was run last. The program is left with other costs. */
int vary_draw(struct job *job, const struct retarget *t, struct vary_result *out, struct err *e);

/* Of the recorded iterations. */
void vary_recorded(struct job *job, struct vary_result *out);

#endif

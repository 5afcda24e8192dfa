/* SPDX-License-Identifier: MIT
 *
 * What-ifs of one job: jitter, slow ranks, slow links, for the replay that simulates it and for the
 * files of this folder.
 *
 *     v = (struct vary_job){.program = p, .growth = g, .steps = steps, .net = net, .world = n, ...};
 *     vary_job_init(&v, &opts, e);
 *     for each simulation:
 *         vary_place_faults(&v, true, 1, &t);
 *         for each cost: program_set_cost(p, i, vary_note_cost(&v, i, ns));
 *         program_run(p, e);
 *         vary_draw(&v, &t, &result, e);
 */
#ifndef SPECTER_SIM_WHATIF_WHATIF_JOB_H
#define SPECTER_SIM_WHATIF_WHATIF_JOB_H

#include "sim/target/retarget.h"
#include "sim/whatif/whatif.h"
#include "trace/step_time.h"

/* Where a cost of the program stands in the steps of its rank: costs of one slot are the same
 * operation in each of them. */
struct vary_slot {
    uint32_t slot; /* VARY_NONE: in no step */
    uint32_t iteration;
};

#define VARY_NONE UINT32_MAX

struct vary_job {
    /* The job; borrowed, for the caller to set. */
    struct program *program;
    const struct growth *growth;
    const struct job_steps *steps;
    const struct network_profile *net; /* of the target */
    int world;                         /* ranks of the recorded job */
    /* The step time of the last simulation, or as recorded. Asked where the job has one step. */
    double (*step_ns)(void *context, bool simulated);
    void *context;

    struct vary_opts opts;
    struct variation variation; /* learned from the recording, or given */
    double *slow_work;          /* [world] by rank of the recorded job; owned */
    double *slow_link;          /* [world] likewise */
    double host_speed;          /* of the simulation under way */
    bool wrong_work;            /* in the simulation under way some of the first are not 1, */
    bool wrong_link;            /* of the second; */
    bool *placed;               /* [opts.nfaults] and which faults lie in the job; owned */
    int64_t *base_ns;           /* [ncosts] of the last simulation, without faults; owned */
    struct vary_slot *of;       /* [ncosts] owned; NULL without jitter */
    uint32_t nslots;
};

/* Learns from the recording what `opts` asks for: v->variation. Of a recording with too few steps
 * nothing is learned, and v->opts.jitter is off. vary_job_release() in either case. */
int vary_job_init(struct vary_job *v, const struct vary_opts *opts, struct err *e);
void vary_job_release(struct vary_job *v);

static inline bool vary_drawn(const struct vary_job *v)
{
    return v->opts.jitter != JITTER_OFF;
}

/* ---- faults.c ---- */

/* Returns 0 where the ranks and nodes that faults name are in the job at one of these scales; else
 * -1 with e filled (ERR_USAGE). */
int vary_check_faults(struct vary_job *v, const int64_t *scales, size_t n, struct err *e);

/* Sets who is slow in the simulation to come, whose costs t sets: slow links in t, hosts in the
 * program. faulty: with the faults; host_speed: CPU time takes 1 / this; 0: as recorded. */
void vary_place_faults(struct vary_job *v, bool faulty, double host_speed, struct retarget *t);

/* Returns whether the simulation under way has a fault. */
bool vary_faulty(const struct vary_job *v);

/* Takes note of a cost and returns what it is under the faults. */
int64_t vary_note_cost(struct vary_job *v, size_t cost, int64_t ns);
int64_t vary_slowed(const struct vary_job *v, size_t cost, int64_t ns);
double vary_host_slowness(const struct vary_job *v, size_t rank); /* index in the run */

/* CPU time of the rank's hosts takes `slow` times what it takes on the target. */
void vary_set_hosts(const struct vary_job *v, size_t rank, double slow);

/* ---- jitter_slots.c, jitter_learn.c ---- */

/* Fills v->of: slots are positions in a step; those of steps that differ from most have none. */
void vary_assign_slots(struct vary_job *v);

/* Fills v->variation. */
void vary_measure(struct vary_job *v);

/* ---- jitter_draw.c ---- */

/* Draws of the simulation that was run last. The program is left with other costs. */
int vary_draw(struct vary_job *v, const struct retarget *t, struct vary_result *out, struct err *e);

/* Of the recorded steps. */
void vary_recorded(struct vary_job *v, struct vary_result *out);

#endif

/* SPDX-License-Identifier: MIT
 *
 * What-ifs of one job: jitter, slow ranks, slow links, for the replay that simulates it and for the
 * files of this folder.
 *
 *     v = (struct whatif){.program = p, .growth = g, .steps = steps, .net = net, .world = n, ...};
 *     whatif_init(&v, &opts, e);
 *     for each simulation:
 *         faults_place(&v, true, 1, &t);
 *         for each cost: program_set_cost(p, i, faults_note_cost(&v, i, ns));
 *         program_run(p, e);
 *         jitter_draw(&v, &t, &result, e);
 */
#ifndef SPECTER_SIM_WHATIF_WHATIF_JOB_H
#define SPECTER_SIM_WHATIF_WHATIF_JOB_H

#include "sim/target/retarget.h"
#include "sim/whatif/whatif.h"
#include "trace/step_time.h"

/* Position of a program's cost in the steps of its rank: costs of one slot are the same operation
 * in each of them. */
struct jitter_slot {
    uint32_t slot; /* JITTER_NONE: in no step */
    uint32_t iteration;
};

#define JITTER_NONE UINT32_MAX

struct whatif {
    /* The job; borrowed, for the caller to set. */
    struct program *program;
    const struct weak_scaling *growth;
    const struct job_steps *steps;
    const struct network_profile *net; /* of the target */
    int world;                         /* ranks of the recorded job */
    /* The step time of the last simulation, or as recorded. Asked where the job has one step. */
    double (*step_ns)(void *context, bool simulated);
    void *context;

    struct whatif_opts opts;
    struct jitter variation; /* learned from the recording, or given */
    double *slow_work;       /* [world] by rank of the recorded job; owned */
    double *slow_link;       /* [world] likewise */
    double host_speed;       /* of the simulation under way */
    bool has_slow_ranks;     /* in the simulation under way some of the first are not 1, */
    bool has_slow_links;     /* of the second; */
    bool *placed;            /* [opts.nfaults] and which faults lie in the job; owned */
    int64_t *base_ns;        /* [ncosts] of the last simulation, without faults; owned */
    struct jitter_slot *of;  /* [ncosts] owned; NULL without jitter */
    uint32_t nslots;
};

/* Learns from the recording what `opts` asks for: v->variation. Of a recording with too few steps
 * nothing is learned, and v->opts.jitter is off. whatif_release() in either case. */
int whatif_init(struct whatif *v, const struct whatif_opts *opts, struct err *e);
void whatif_release(struct whatif *v);

static inline bool whatif_has_jitter(const struct whatif *v)
{
    return v->opts.jitter != JITTER_OFF;
}

/* ---- faults.c ---- */

/* Returns 0 where the ranks and nodes that faults name are in the job at one of these scales; else
 * -1 with e filled (ERR_USAGE). */
int faults_check(struct whatif *v, const int64_t *scales, size_t n, struct err *e);

/* Sets who is slow in the simulation to come, whose costs t sets: slow links in t, hosts in the
 * program. faulty: with the faults; host_speed: CPU time takes 1 / this; 0: as recorded. */
void faults_place(struct whatif *v, bool faulty, double host_speed, struct retarget *t);

/* Returns whether the simulation under way has a fault. */
bool faults_are_placed(const struct whatif *v);

/* Takes note of a cost and returns what it is under the faults. */
int64_t faults_note_cost(struct whatif *v, size_t cost, int64_t ns);
int64_t faults_slowed(const struct whatif *v, size_t cost, int64_t ns);
double faults_host_slowness(const struct whatif *v, size_t rank); /* index in the run */

/* CPU time of the rank's hosts takes `slow` times what it takes on the target. */
void faults_set_hosts(const struct whatif *v, size_t rank, double slow);

/* ---- jitter_slots.c, jitter_learn.c ---- */

/* Fills v->of: slots are positions in a step; those of steps that differ from most have none. */
void jitter_assign_slots(struct whatif *v);

/* Fills v->variation. */
void jitter_learn(struct whatif *v);

/* ---- jitter_draw.c ---- */

/* Draws of the simulation that was run last. The program is left with other costs. */
int jitter_draw(struct whatif *v, const struct retarget *t, struct jitter_result *out,
                struct err *e);

/* Of the recorded steps. */
void jitter_recorded(struct whatif *v, struct jitter_result *out);

#endif

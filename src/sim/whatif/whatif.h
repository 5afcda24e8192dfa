/* SPDX-License-Identifier: MIT
 *
 * Causes beside its size that make a large job slow: the variation of its operations, slow ranks,
 * slow links. jitter_learn.c and jitter_draw.c derive it; limits: src/sim/README.md, "Variation".
 *
 * Variation is drawn anew in each of several simulations (draws). Ranks that are not simulated
 * enter as order statistics: a collective waits for the latest of all its members, so a simulated
 * rank that stands for others is made as late as the latest of these would be (jitter_draw.c).
 */
#ifndef SPECTER_SIM_WHATIF_WHATIF_H
#define SPECTER_SIM_WHATIF_WHATIF_H

#include "base/err.h"
#include "sim/target/retarget.h"
#include "trace/step_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JITTER_DRAWS 32 /* the usual ones */
#define JITTER_SEED 1
#define JITTER_SEED_MAX ((1LL << 53) - 1) /* which every reader of JSON takes for itself */
#define JITTER_DRAWS_MAX 10000

enum jitter_source {
    JITTER_OFF,
    JITTER_TRACE, /* as the iterations of the recording differ */
    JITTER_GIVEN, /* every operation varies by cv */
};

/* A fault of a part of the job. */
enum fault_kind {
    FAULT_SLOW_RANK, /* computation and host of a rank take `slow` times as long */
    FAULT_SLOW_NODE, /* of all ranks of a node */
    FAULT_SLOW_LINK, /* the NICs of a node run at 1/slow */
    FAULT_NO_NIC,    /* `count` NICs of a node do not work: the others carry its traffic */
};

struct whatif_fault {
    enum fault_kind kind;
    int64_t where; /* rank or node of the job at the scale in question */
    double slow;   /* at least 1 */
    int64_t count;
    const char *text; /* as given; borrowed */
};

struct whatif_opts {
    enum jitter_source jitter;
    double cv;     /* of JITTER_GIVEN: standard deviation / mean of an operation */
    int64_t draws; /* 2 to JITTER_DRAWS_MAX; not looked at without jitter */
    uint64_t seed;
    const struct whatif_fault *faults; /* borrowed */
    size_t nfaults;
};

/* Standard deviations relative to what varies; 0 where a recording does not tell. */
struct jitter {
    double work;         /* of a rank's operation by itself */
    double step;         /* of all operations of a rank in one iteration */
    double rank;         /* of a rank, in all iterations, among ranks that do the same */
    double iteration;    /* of all ranks in one iteration */
    double transfer;     /* of a collective's or message's own time */
    double host;         /* of a rank's CPU time in one iteration */
    uint32_t iterations; /* that were compared; fewer than JITTER_STEPS_MIN: nothing is known */
    uint32_t alike;      /* the most ranks that do the same; below 2 `rank` is not known */
};

/* Two differences of iterations that are warm. */
#define JITTER_STEPS_MIN 3

/* Iteration times over draws: each draw gives as many as the recording has behind the first. */
struct jitter_result {
    uint64_t draws, samples; /* 0: not asked for */
    double mean_ns, p50_ns, p95_ns;
};

/* "off", "trace", "5", "5%": a percentage above 0 and at most 100. -1 with e filled (ERR_USAGE), as
 * of those below. */
int whatif_parse_jitter(const char *text, struct whatif_opts *out, struct err *e);

/* `text` of --straggler ("rank=3,slow=1.2", "node=0,slow=1.2"), --slow-link ("node=0,slow=2") or
 * --failed-nic ("node=0,count=1"): the option's name without dashes tells which. */
int whatif_parse_fault(const char *option, const char *text, struct whatif_fault *out,
                       struct err *e);

/* The what-ifs of one job: jitter, slow ranks, slow links, for the replay that simulates it and for
 * the files of this folder.
 *
 *     v = (struct whatif){.program = p, .growth = g, .steps = steps, .net = net, .world = n, ...};
 *     whatif_init(&v, &opts, e);
 *     for each simulation:
 *         faults_place(&v, true, 1, &t);
 *         for each cost: program_set_cost(p, i, faults_note_cost(&v, i, ns));
 *         program_run(p, e);
 *         jitter_draw(&v, &t, &result, e);
 */

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

/* ---- faults ---- */

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

/* ---- jitter_learn.c ---- */

/* Fills v->variation. */
void jitter_learn(struct whatif *v);

/* ---- jitter_draw.c ---- */

/* Draws of the simulation that was run last. The program is left with other costs. */
int jitter_draw(struct whatif *v, const struct retarget *t, struct jitter_result *out,
                struct err *e);

/* Of the recorded steps. */
void jitter_recorded(struct whatif *v, struct jitter_result *out);

/* ---- random.c ----
 *
 * Random numbers that depend on what they are for and on nothing else: a key says which draw, rank,
 * iteration and operation; the same key gives the same number at every scale and in every what-if
 * (common random numbers), so that differences between results are no noise. Normal quantiles, and
 * the latest of many.
 *
 *     uint64_t key = random_key(random_key(seed, draw), rank);
 *     double z = random_normal(key); */

uint64_t random_key(uint64_t key, uint64_t part); /* a key for a part of what `key` is for */

double random_uniform(uint64_t key); /* in (0, 1) */
double random_normal(uint64_t key);

/* The z below which a standard normal is with probability p, 0 < p < 1. Relative error below
 * 1.2e-9 (P. Acklam's rational approximation). */
double random_quantile_of_normal(double p);

/* The latest of `count` standard normals, at probability u: the z with Phi(z)^count = u. It grows
 * with count; count need not be whole. */
double random_latest(double u, double count);

/* A positive factor of mean 1 and standard deviation cv (lognormal), at the standard normal z. */
double random_factor(double z, double cv);

/* The standardized quantile (mean 0, variance 1) of a lognormal that was shifted until its skewness
 * is this one, at the standard normal z; z itself for skewness 0. Exact for one factor of
 * random_factor(); of a sum of them it has three moments. */
double random_skewed(double z, double skewness);

/* The skewness of such a factor. */
double random_skewness(double cv);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The replay of a run on other hardware and at other scales: program, costs, simulation, iteration
 * times. What it assumed and could not know is in the result, in words.
 *
 *     struct replay_opts opts = {.gpu = gpu, .scales = list, .nscales = 3, .calibrate = true};
 *     struct replay rep;
 *     if (replay_run(&rep, &run, &opts, e) == 0)
 *         for (size_t i = 0; i < rep.nscales; i++)
 *             use(rep.scales[i].time.span_ns, rep.scales[i].efficiency);
 *     replay_release(&rep);
 */
#ifndef SPECTER_SIM_REPLAY_H
#define SPECTER_SIM_REPLAY_H

#include "sim/grid_survey.h"
#include "sim/iterate.h"
#include "sim/retarget.h"
#include "sim/vary.h"
#include "trace/run.h"

#define HOST_SPEED_MIN 0.01
#define HOST_SPEED_MAX 100.0

struct replay_opts {
    /* Target; NULL: the recording's own. The network of another GPU is the one that such a GPU
     * usually sits in. */
    const struct gpu_profile *gpu;
    const struct network_profile *network;
    const struct gpu_profile *from_gpu; /* source; NULL: as the trace tells */
    const struct network_profile *from_network;
    const int64_t *scales; /* borrowed; none: 1,2,4,8,16,32, as far as the network holds them */
    size_t nscales;
    bool calibrate;        /* see struct retarget */
    const char *parallel;  /* the grid, as grid_tell() takes it; NULL: found */
    const char *grow;      /* the axis that scales multiply: name of a role; NULL: dp */
    double host_speed;     /* CPU time takes 1 / this on the target; 0: as recorded */
    struct vary_opts vary; /* variation, slow ranks and links; all 0: none */
};

/* time: that of the rank which takes longest, with its parts; the lowest rank of several. */
/* The scales of a replay that names none, in ascending order; the network may hold fewer. */
extern const int64_t replay_scales[];
extern const size_t replay_nscales;

struct replay_scale {
    int64_t scale, gpus;
    struct iteration_time time;
    double speedup;    /* scale * T(1) / T(scale): work done per time, as a multiple of scale 1 */
    double efficiency; /* T(1) / T(scale) */
    double sound_ns;   /* the iteration without the faults that were asked for; 0: there are none */
    size_t absent;     /* faults that were asked for and are about ranks that it does not have */
    struct vary_result vary;
};

/* An iteration of one rank, as recorded and as replayed on the hardware of the recording. */
struct replay_rank {
    int rank;
    double recorded_ns, replayed_ns;
    uint32_t iterations;
    enum iteration_source source;
};

/* Something that the reader of the result must know. */
struct replay_line {
    const char *text;
    bool loss; /* part of the input could not be used */
};

struct replay_lines {
    struct replay_line *list; /* owned; texts in the arena of the replay */
    size_t count, cap;
};

struct replay {
    struct hardware from, to;      /* what is not known of `from` is taken from `to`: no ratio */
    bool gpu_known, network_known; /* of the recording */
    bool same_hardware;            /* known to be */
    bool calibrate;
    double host_speed; /* of the target, against the recording's */
    int world;
    struct grid grid;
    struct grid_input groups; /* what the grid was found from; in the arena and the run */
    enum grid_role grown;     /* the axis that scales multiply */
    struct grid_absent absent;
    struct iteration_time recorded;
    struct iteration_time own;    /* replayed on the hardware of the recording */
    uint32_t iterations;          /* the fewest of any rank */
    enum iteration_source source; /* of that rank's */
    struct replay_rank *ranks;    /* by index in run->ranks; in the arena */
    size_t nranks;
    struct replay_scale *scales; /* owned; in the order asked for */
    size_t nscales, cap_scales;
    double latency_us; /* from a launch to the start of its work, as the recording shows it */
    double excess_us;  /* of it, beyond the profile's launch_us: kept on any GPU; >= 0 */
    double unmodelled; /* share of device time that rests on no model */
    struct variation variation;         /* where it was asked for */
    uint64_t seed;                      /* of its draws */
    struct vary_result recorded_spread; /* of the recorded iterations, beside it */
    struct replay_lines assumptions, notes;
    struct arena arena;
};

/* 0, or -1 with e filled. To be released in either case. The run is only read: several threads may
 * replay one at a time. */
int replay_run(struct replay *rep, const struct run *run, const struct replay_opts *opts,
               struct err *e);
void replay_release(struct replay *rep);

#endif

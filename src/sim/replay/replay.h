/* SPDX-License-Identifier: MIT
 *
 * The replay of a run on other hardware and at other scales: program, costs, simulation, iteration
 * times. What it assumed and could not know is in the result, as facts.
 *
 *     struct replay_opts opts = {.gpu = gpu, .scales = list, .nscales = 3, .calibrate = true};
 *     struct replay rep;
 *     if (replay_run(&rep, &run, &opts, e) == 0)
 *         for (size_t i = 0; i < rep.nscales; i++)
 *             use(rep.scales[i].time.span_ns, rep.scales[i].efficiency);
 *     replay_release(&rep);
 */
#ifndef SPECTER_SIM_REPLAY_REPLAY_H
#define SPECTER_SIM_REPLAY_REPLAY_H

#include "sim/grid/grid_input.h"
#include "sim/replay/facts.h"
#include "sim/replay/path.h"
#include "sim/replay/uncertainty.h"
#include "sim/step/step_measure.h"
#include "sim/target/retarget.h"
#include "sim/whatif/whatif.h"
#include "specter/trace.h"
#include "trace/activity.h"
#include "trace/run.h"

/* ---- throughput.c ----
 *
 * Tokens a second, and how well the GPUs' arithmetic is used.
 *
 * Told how many floating-point operations the model needs for an iteration of the job, utilisation
 * is model FLOPs utilisation (MFU): those over what all GPUs could do in the iteration at their
 * dense peak. Without, the operations of the recorded GEMMs count (2mnk x batch), and those of
 * convolutions and attention that a profile tells (op_flops()). They hold what is computed again in
 * the backward pass, which a recording cannot tell apart, and lack products without a shape:
 * hardware FLOPs utilisation (HFU).
 *
 * The peak is that of the products' types by their shares of the operations: work / sum of
 * (work of a type / its peak). */

struct replay_job;
struct gpu_profile;

/* Of one iteration of the whole job as recorded, at scale 1. */
struct workload {
    double tokens;      /* given by the user; 0: not */
    double flops;       /* given, or of the recorded products; 0: not known */
    bool given;         /* flops were */
    double peak_tflops; /* of one target GPU for the mix; 0: not known */
    const char *mix;    /* "bf16", "fp8e4m3 80 %, bf16 20 %"; in the arena of the replay */
    const char *of; /* "GEMMs, convolutions and attention": what the flops are of, unless given */
    const char *missing; /* why flops or peak are not known; NULL */
    uint64_t shapeless;  /* recorded products without a shape: not counted */
    bool extrapolated;   /* ranks without operations are taken to do what the others do */
};

struct throughput {
    double tokens_per_s, tokens_per_s_gpu; /* 0: no tokens were given */
    double utilisation;                    /* 0: not known; above 1: the inputs do not fit */
    /* all NAN where the recording does not tell how the job scales */
};

/* tokens, flops: as given by the user; 0: not. */
void workload_measure(struct workload *w, const struct replay_job *job, double tokens,
                      double flops);

/* Of an iteration of span_ns on so many GPUs. work: how often the recorded job's work is done (the
 * scale; 1 where its batch is divided). Tokens multiply with it unless what grows is the model (tp)
 * or its depth (pp). */
struct throughput throughput_of(const struct workload *w, double work, double gpus, double span_ns,
                                enum grid_role grown);

/* ---- the replay ---- */

#define HOST_SPEED_MIN 0.01
#define HOST_SPEED_MAX 100.0
#define REPLAY_ERROR_MAX 0.25 /* of own_error, for speed-up and efficiency to be told */

struct replay_scale;

/* Called after the measurement of the recording (scale NULL), then after the simulation of each
 * scale (1 first, whether asked for or not), while job.h can still tell when everything ran. */
struct replay_watch {
    void (*observe)(void *context, const struct replay_job *job, const struct replay_scale *scale);
    void *context;
};

/* The reason why a prediction is bound otherwise than the recording. */
enum bounds_cause {
    BOUNDS_SAME,
    BOUNDS_REPLAY_OFF,    /* the replay is far off the recording on its own hardware */
    BOUNDS_UNTIMED,       /* what was not timed is work in a replay, and idle time to analyze */
    BOUNDS_TARGET,        /* on the target the parts of a step take other times */
    BOUNDS_WAITS_UNKNOWN, /* the replay infers what the host waited for */
    BOUNDS_CLOSE,         /* the host is ahead of busy devices by little */
    BOUNDS_CAUSES
};

struct replay_opts {
    /* Target; NULL: the recording's own. The network of another GPU is the one that such a GPU
     * usually sits in. */
    const struct gpu_profile *gpu;
    const struct network_profile *network;
    const struct gpu_profile *from_gpu; /* source; NULL: as the trace tells */
    const struct network_profile *from_network;
    int nccl;              /* of the target, 22809; 0: its profile's, else the recording's */
    const int64_t *scales; /* borrowed; none: 1,2,4,8,16,32, as far as the network holds them */
    size_t nscales;
    const int64_t *gpus; /* sizes of the whole job, in place of scales; borrowed */
    size_t ngpus;
    bool strong;                       /* the batch is divided; else every GPU keeps its work */
    const struct placement *placement; /* how ranks sit on the target's nodes; NULL: as recorded,
                                          where that is known, else in blocks */
    bool calibrate;                    /* see struct retarget */
    const char *parallel;              /* the grid, as grid_from_text() takes it; NULL: found */
    bool grow_given;                   /* else dp is the axis that scales multiply */
    enum grid_role grow;               /* where given */
    double tokens, flops;              /* of an iteration of the recorded job; 0: not told */
    struct replay_watch watch;         /* observe NULL: none */
    bool brief;                        /* iteration times and their intervals only */
    bool own_times;                    /* only recorded times count: the GPU need not be known */
    double host_speed;                 /* CPU time takes 1 / this on the target; 0: as recorded */
    const struct recorded_bounds *bounds; /* what the prediction's are compared with; NULL: none */
    struct whatif_opts whatif;            /* variation, slow ranks and links; all 0: none */
};

/* The scales of a replay that names none, in ascending order; the network may hold fewer. */
extern const int64_t replay_scales[];
extern const size_t replay_nscales;

/* time: a step of the job, from the end of the last rank in the one before to that in it; its parts
 * are means over the ranks. */
struct replay_scale {
    int64_t scale, gpus;
    struct iteration_time time;
    double speedup; /* work done per time, as a multiple of scale 1: scale * T(1) / T(scale), of a
                       divided batch T(1) / T(scale) */
    double efficiency; /* speedup / scale; both NAN where the recording does not tell them,
                          or its own replay is too far off */
    size_t rank;       /* index in the simulated run: whose end ends the step */
    struct axis_times axes;
    struct path_summary path;
    struct uncertainty error;
    struct throughput rate;
    double
        fault_free_ns; /* the iteration without the faults that were asked for; 0: there are none */
    size_t absent;     /* faults that were asked for and are about ranks that it does not have */
    struct jitter_result jitter;
};

/* A step of one rank, as recorded and as replayed on the hardware of the recording. */
struct replay_rank {
    int rank;
    double recorded_ns, replayed_ns;
    struct rank_waits waits; /* in collectives, of the whole recording */
};

struct replay {
    struct hardware from, to;      /* what is not known of `from` is taken from `to`: no ratio */
    bool gpu_known, network_known; /* of the recording */
    bool same_hardware;            /* known to be */
    bool calibrate;
    double host_speed;     /* of the target, against the recording's */
    bool strong;           /* as asked for */
    const char *placement; /* how ranks sit on the target's nodes: "block"; in the arena */
    int world;
    struct grid grid;
    struct grid_input groups; /* what the grid was found from; in the arena and the run */
    enum grid_role grown;     /* the axis that scales multiply */
    struct grid_absent absent;
    struct iteration_time recorded;
    struct iteration_time own; /* replayed on the hardware of the recording */
    double own_error;          /* |recorded / replayed - 1| of these; 0: not known */
    struct axis_times recorded_axes;
    struct iteration_spread spread; /* of recorded iterations, on the rank that takes longest */
    struct workload workload;
    struct waits waits;  /* in collectives, of both */
    uint32_t iterations; /* steps */
    uint32_t lengths;    /* that the step time is the mean of: the first of several steps has none,
                            one that warms up is left out */
    bool warm_up;        /* a step warms up and is left out */
    enum step_source source;
    const struct job_steps *steps;    /* while the replay runs */
    enum bound bound, path_bound;     /* of the step at scale 1, and of its path; not when brief */
    const char *bound_why;            /* why they differ; NULL */
    enum bounds_cause recorded_cause; /* why they are not those of the recording */
    struct replay_rank *ranks;        /* by index in run->ranks; in the arena */
    size_t nranks;
    struct replay_scale *scales; /* owned; in the order asked for */
    size_t nscales, cap_scales;
    const char *unscaled; /* why no scale above 1 has a speed-up, an efficiency and an error (NAN):
                             nothing recorded grows; NULL: they have. In the arena */
    int64_t first_scale;  /* asked for: of it a step is drawn; set before a scale is simulated */
    double latency_us;    /* from a launch to the start of its work, as the recording shows it */
    double excess_us;     /* of it, beyond the profile's launch_us: kept on any GPU; >= 0 */
    double untold;        /* share of it whose part in a divided batch is not known */
    double sharded;       /* share of the step at scale 1 that shrinks as shards do */
    double unmodelled;    /* share of device time that rests on no model */
    struct cost_sum device_time[COST_RULES]; /* at scale 1, by what it rests on */
    struct jitter variation;                 /* where it was asked for */
    uint64_t seed;                           /* of its draws */
    struct jitter_result recorded_spread;    /* of the recorded iterations, beside it */
    struct replay_facts facts;               /* what was assumed, and what is not known */
    struct arena arena;
};

/* 0, or -1 with e filled. To be released in either case. The run is only read: several threads may
 * replay one at a time. */
int replay_run(struct replay *rep, const struct run *run, const struct replay_opts *opts,
               struct err *e);
void replay_release(struct replay *rep);

/* Returns how many ranks of the job have operations in the recording. */
static inline size_t replay_recorded_ranks(const struct replay *rep)
{
    return (size_t)(rep->world - rep->absent.count);
}

#endif

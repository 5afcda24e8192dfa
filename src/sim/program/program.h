/* SPDX-License-Identifier: MIT
 *
 * A run as a program for the engine: what the hosts did, in order, without any recorded start of
 * device work and without any wait. What each operation costs is set from outside, so that one
 * program serves every target and scale.
 *
 *     struct program p;
 *     program_init(&p, &run, latency_ns, false);
 *     program_measured(&p);
 *     if (program_run(&p, e) < 0) ...
 *     span = program_span(&p, rank, op);
 *     program_release(&p);
 *
 * Launch latency and each rank's part in a transfer, as the recording shows them, are found with
 * the help of a second program, in which no rank waits for others: every operation there lasts as
 * recorded, communication with its waits included.
 *
 *     program_init(&isolated, &run, latency_ns, true);
 *     latency_ns = program_fit_latency(&isolated, latency_ns);
 *     program_learn(&p, &isolated);
 *
 * Rules:
 * - CPU time: calls and the gaps between them, without waits for room in a queue
 *   (process_index.c). A blocked synchronisation costs the rank's shortest one, at most 10 us
 *   (else its shortest call). --host-speed X: 1/X
 * - launch latency: launch_us of the GPU profile, plus the median that the recording shows, at
 *   most 50 us (program_fit_latency())
 * - ranks of a host keep their offsets; hosts begin at 0. GPUs of a process share its hosts and
 *   events
 * - waits: recorded events; else inferred and counted. A dependency that never delayed anything is
 *   not seen
 * - synchronisations of which the trace names neither stream nor event: by infer_waits.c; a
 *   stream's that returned at once means the stream of its thread's last launch. What cannot be
 *   told is CPU time, and part of the error
 * - blocking copies: a launch and a synchronisation of their stream (trace/api_calls.h); staged
 *   data: the reverse
 * - allocations: cudaMalloc, cudaFree and pinning waited for the device where all earlier work
 *   ended within the call
 * - graphs: a launch is one operation; captured operations are left out, and counted
 */
#ifndef SPECTER_SIM_PROGRAM_PROGRAM_H
#define SPECTER_SIM_PROGRAM_PROGRAM_H

#include "sim/engine/sim.h"
#include "trace/match.h"
#include "trace/run.h"

/* A synchronisation that took less did not block: its time is what the call itself costs. */
#define PROGRAM_SYNC_COST_MAX_NS 10000

#define PROGRAM_LATENCY_MAX_NS 50000

#define PROGRAM_NONE UINT32_MAX

/* So many launches a CUDA stream takes ahead of the device; the next one waits. */
#define BACKLOG_DEPTH 1022

/* Something whose duration the replay sets: an operation that one rank does alone, or a transfer.
 */
struct program_cost {
    uint32_t rank, op; /* whose bytes, shape and communicator describe it; op PROGRAM_NONE: kernels
                          that were counted, not timed */
    uint32_t target;   /* the engine's item or transfer */
    uint32_t match;    /* index into matches.list when it is a transfer; PROGRAM_NONE */
    int64_t measured_ns; /* waits removed, and what others beside it took (overlap.h);
                            UNKNOWN_NS */
    int64_t wait_ns;     /* of measured_ns: what a transfer waited in a queue (overlap_shown.c) */
    int64_t set_ns;      /* what it is simulated with */
    uint32_t launch;     /* of kernels without times: index into the rank's launches;
                            PROGRAM_NONE: see before */
    uint32_t before;     /* of work that was not recorded (untimed.c): the operation after it */
    const uint64_t *classes; /* [SPECTER_KERNEL_CLASS_COUNT] of such kernels; NULL. Borrowed */
};

/* CPU time of a call: part 0 is what passed since the one before it, the others are its own. */
struct program_cpu {
    int64_t ns;
    uint32_t rank;
    uint32_t index;     /* into the rank's ops, sync calls or launches */
    uint32_t action;    /* the engine's, before which it passes; parts of one lie side by side */
    uint8_t call, part; /* call: enum host_call_kind */
};

/* A synchronisation, and the engine's mark after it. */
struct program_sync {
    uint32_t after;           /* mark, after the cost of the call itself */
    int64_t start_ns, end_ns; /* as recorded, since the rank's origin */
    int64_t cost_ns;
    int64_t base_ns; /* start of the rank on the simulation's clock */
    bool first;      /* of its host */
    bool launched;   /* its host launched something since the one before */
};

/* Kernels that were counted, not timed: their work in the engine, and the gap in the recording that
 * is taken for their time. */
struct program_untraced {
    uint32_t item;
    struct sim_span recorded;
};

struct program_rank {
    uint32_t *match; /* [nops] match of each operation, which is also its transfer; PROGRAM_NONE */
    uint32_t *item;  /* [nops] item of each operation; PROGRAM_NONE: not issued */
    uint32_t *issue; /* [nissued] operations in the order of issue */
    size_t nissued;
    struct program_untraced *untraced; /* [nuntraced] */
    size_t nuntraced;
    int32_t *streams; /* [nstreams] what the trace calls the engine's stream first_stream + i */
    size_t nstreams;
    uint32_t first_stream;
    uint32_t first_host, nhosts; /* shared with the other ranks of its process */
    int64_t origin_ns, end_ns;   /* the host's recorded window */
    int64_t begin_ns;            /* origin_ns on the simulation's clock */
};

/* The rule that found a wait between streams which the trace does not hold (infer_waits.c). */
enum infer_rule { INFER_BY_GAP, INFER_BY_ISSUE, INFER_RULES };

/* The time assumed for kernels that were counted and not timed (untimed.c). */
enum untimed_rule {
    UNTIMED_WORK, /* they took the gap */
    UNTIMED_HOST, /* the host was late: not known, 0 */
    UNTIMED_RULES
};

/* The reason why an operation keeps its distance from the one before it on its stream. */
enum untimed_gap {
    GAP_GRAPH,     /* in, or right behind, the launch of a graph */
    GAP_NO_LAUNCH, /* its call is not in the recording */
    GAP_UNCOUNTED, /* the recording does not count kernels */
    UNTIMED_GAPS
};

/* Assumptions of the program, and what it leaves out. */
struct program_facts {
    uint64_t inferred[INFER_RULES];  /* waits between streams */
    uint64_t ranks_inferred;         /* ranks whose trace does not hold them */
    uint64_t syncs_guessed;          /* stream synchronisations without a stream */
    uint64_t syncs_found;            /* event synchronisations whose operation was inferred */
    uint64_t syncs_untold;           /* that waited for something the recording does not tell, */
    int64_t untold_ns;               /* and how long: CPU time */
    uint64_t captured;               /* operations recorded into a graph: not run then */
    uint64_t no_host_time;           /* issued by their order */
    uint64_t shared;                 /* ranks of processes that have several */
    uint64_t threads_apart;          /* threads that overlap others */
    uint64_t graphs;                 /* launches of graphs */
    uint64_t waiting_copies;         /* whose calls are taken to have waited for them */
    uint64_t allocations;            /* calls that allocate or free memory and synchronise */
    uint64_t blocked;                /* launches that waited for room in a queue */
    uint64_t untimed[UNTIMED_RULES]; /* kernels without times, by what is taken for theirs */
    int64_t untimed_ns;              /* device time that they are taken to have */
    uint64_t gaps[UNTIMED_GAPS];     /* operations that keep their distance from the one before */
    int64_t gap_ns[UNTIMED_GAPS];    /* and by how much */
};

/* A transfer whose data go one way along its members. */
struct program_one_way {
    uint32_t span;   /* places between the ends of the way; 0: members begin and end together */
    uint32_t first;  /* place of the first member that was recorded */
    int64_t fill_ns; /* over all of the way, as recorded; UNKNOWN_NS */
    int64_t set_ns;  /* the same on the target: program_set_fill() */
};

struct program {
    const struct run *run; /* borrowed */
    struct sim *sim;       /* owned */
    bool isolated;
    struct matches matches;
    int64_t *absent_ns; /* [matches.count] what a transfer waited for members that were not
                           recorded (retarget.h); 0 */
    int64_t *doubt_ns;  /* [matches.count] the part of it that may have been the transfer; 0 */
    int64_t *wait_ns;   /* [matches.count] the same on the target: program_set_wait() */
    struct program_one_way *one_ways; /* [matches.count] */
    uint32_t *lag_ns; /* [matches.nmembers] under measured costs, after the transfer's end */
    const uint32_t *set_lag_ns; /* [matches.nmembers] instead of those in proportion, from the next
                                   program_set_cost() on; borrowed; NULL */
    struct program_rank *ranks; /* [run->nranks], in the arena with what they point to */
    struct program_cost *costs; /* owned */
    size_t ncosts, cap_costs;
    struct program_sync *syncs; /* owned; by host, in order */
    size_t nsyncs, cap_syncs;
    bool keeps_all;
    struct program_cpu *cpu; /* owned; by host, in order. None unless it keeps all */
    size_t ncpu, cap_cpu;
    uint32_t *tied;  /* [matches.count] union-find forest of transfers that share items */
    uint32_t nhosts; /* of the engine */
    struct program_facts facts;
    struct arena arena;
};

/* latency_ns: from a launch to the start of its work, on the hardware of the recording. The run
 * must be finished and outlive the program. */
void program_init(struct program *p, const struct run *run, int64_t latency_ns, bool isolated);

/* The same, with messages of ranks that others stand for (trace/match.h); NULL. keeps_all: fills
 * p->cpu, and has a cost for all kernels without times, 0 where theirs is not known. */
void program_init_filled(struct program *p, const struct run *run, int64_t latency_ns,
                         bool isolated, const struct match_standins *standins, bool keeps_all);
void program_release(struct program *p);

/* A transfer's members lag behind it in the proportion of its measured cost. */
void program_set_cost(struct program *p, size_t cost, int64_t ns);

/* Sets all CPU times of p->cpu, [ncpu]; NULL: as recorded. */
void program_set_cpu(struct program *p, const int64_t *cpu_ns);

/* Sets how long a transfer waits for members that were not recorded; 0 before it is set. */
void program_set_wait(struct program *p, uint32_t match, int64_t ns);

/* Sets the fill of a one-way transfer. */
void program_set_fill(struct program *p, uint32_t match, int64_t ns);

/* Every cost as measured; 0 where nothing was. */
void program_measured(struct program *p);

/* Runs it. 0, or -1 with e filled (ERR_INPUT) when nothing can proceed, naming what waits for what.
 */
int program_run(struct program *p, struct err *e);

/* Returns when the data of an operation's transfer moved, up to the end of its own part in it; both
 * -1 when it is part of none. */
struct sim_span program_moved(const struct program *p, size_t rank, size_t op);

/* Returns when an operation ran; both -1 when it did not. */
struct sim_span program_span(const struct program *p, size_t rank, size_t op);

/* ---- learn.c ---- */

/* Finds the transfers whose data go one way, and tells the engine. All ranks must have been added
 * to the program. */
void program_find_one_ways(struct program *p);

/* The launch latency that the recording itself shows. A blocked host's time from one
 * synchronisation to the next is the work on its way plus one launch latency plus the wake-up;
 * durations are measured, so what recorded periods took longer than simulated ones (the median)
 * is latency. No device start is looked at. The result is latency_ns itself when no synchronisation
 * blocked, or when the answer is not in 0 .. PROGRAM_LATENCY_MAX_NS. The program is left run under
 * the result. isolated: such a program, made with latency_ns. */
int64_t program_fit_latency(struct program *isolated, int64_t latency_ns);

/* Learns from the isolated program, which has run, what each member of a transfer takes when all
 * are there: its end less the start of the last member. The shortest of these is the measured cost,
 * the rest of each is its lag. Where that is less than half of the shortest recorded time, the
 * recording is not understood so well; then, between hosts whose clocks share no zero, and for
 * transfers tied by groups, the shortest recorded time is the cost, without lags: of tied ones that
 * of all, but for those by which all their groups end later. */
void program_learn(struct program *p, const struct program *isolated);

#endif

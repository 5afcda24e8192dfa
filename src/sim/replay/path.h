/* SPDX-License-Identifier: MIT
 *
 * The critical path of an iteration: what decided when the rank that takes longest was done, step
 * by step, over the iterations that are measured. Steps abut, so that they add up to the iteration.
 * A wait is no step: the path goes on with what was waited for, on whichever rank that is.
 *
 *     struct path path;
 *     path_find(&path, job, rank);          after a simulation that kept causes
 *     for (size_t i = 0; i < path.count; i++)
 *         use(&path.list[i]);
 *     struct path_summary s;
 *     path_summarise(&s, &path, job);
 *     path_release(&path);
 */
#ifndef SPECTER_SIM_REPLAY_PATH_H
#define SPECTER_SIM_REPLAY_PATH_H

#include "sim/engine/sim.h"
#include "sim/step/step_measure.h"
#include "trace/run.h"

struct replay_job;

enum path_what {
    PATH_GEMM,
    PATH_ATTENTION,
    PATH_KERNEL,   /* other kernels */
    PATH_UNTRACED, /* kernels that were counted, not timed */
    PATH_GRAPH,
    PATH_COPY,
    PATH_COMM,   /* moving data, and the members' own parts after it */
    PATH_LATE,   /* waits for ranks that are not simulated */
    PATH_LAUNCH, /* from a launch to the start of its work */
    PATH_HOST,   /* CPU time */
    PATH_BEGIN,  /* before the host began */
    PATH_WHATS
};

#define PATH_NO_OP UINT32_MAX

struct path_step {
    enum path_what what;
    uint32_t rank, op; /* index in the run; of a transfer its first member; PATH_NO_OP: none */
    uint32_t cost;     /* index in program.costs; PROGRAM_NONE */
    int64_t start_ns, end_ns;
};

struct path {
    struct path_step *list; /* owned; last first */
    size_t count, cap;
    size_t rank;              /* at whose end it begins */
    int64_t start_ns, end_ns; /* what is measured, */
    int64_t length_ns;        /* and how long that is without pauses of the recorder */
    uint32_t iterations;      /* in it */
};

/* rank: the one that decides. Costs must not have changed since the simulation. */
void path_find(struct path *path, const struct replay_job *job, size_t rank);
void path_release(struct path *path);

#define PATH_PARTS_MAX 24 /* what is beyond is in rest_ns */
#define PATH_ENDS 0.95    /* of a part: "nearly all of it" */

/* Steps of one kind; of communication: of one axis and operation. */
struct path_part {
    enum path_what what;
    const char *name;     /* "dp AllReduce", "GEMMs"; in the arena of the replay */
    double ns;            /* of an iteration */
    double share;         /* of it */
    double thirds[3];     /* shares of ns: by place in the order of issue in an iteration */
    bool many;            /* the iteration has enough operations for its thirds to mean something */
    double overlapped_ns; /* of ns: the deciding rank computes meanwhile (communication) */
    uint32_t calls;       /* communication: of such an operation in an iteration of a rank */
    uint32_t last;  /* so many last ones of them make nearly all of it; 0: more than half of them */
    uint64_t bytes; /* of each of these, when equal; 0 */
};

struct path_summary {
    struct path_part parts[PATH_PARTS_MAX]; /* largest first */
    int count;
    double span_ns, rest_ns;
    int slow_rank;    /* global rank whose work is most of the path's work, and takes longer than
                         the median rank's; -1 none */
    double slow_work; /* of the path's work its share */
    double slower;    /* its work over that of the median rank, - 1 */
};

void path_summarise(struct path_summary *out, const struct path *path,
                    const struct replay_job *job);

/* The time of one rank's communication in a step, by the axes of the grid that its communicators
 * span: "dp", "tp", "dp x ep". Where no grid was found, communicators of one size are taken
 * together: "groups of 8".
 *
 *     struct axis_times t;
 *     axis_times_measure(&t, job, true);
 *     for (int i = 0; i < t.count; i++)
 *         use(t.list[i].name, t.list[i].exposed_ns);
 *
 * total: in which one of them is under way, waits included. exposed: of it, in which the rank
 * neither computes nor waits for its neighbour in the pipeline; a moment in which several axes are
 * exposed counts to equal parts for each, so that the exposed times add up to exposed_comm_ns of
 * the step. Both are means over the ranks. */

#define AXIS_TIMES_MAX 12 /* more are taken together as the last, "others" */

struct replay_job;

struct axis_time {
    const char *name; /* in the arena of the replay */
    double total_ns, exposed_ns;
};

struct axis_times {
    struct axis_time list[AXIS_TIMES_MAX]; /* by exposed time, largest first */
    int count;
};

/* Of a step of the job, as job_measure() last measured it. */
void axis_times_measure(struct axis_times *out, const struct replay_job *job, bool simulated);

/* Returns the axis that a communicator counts for; -1 unknown. In the arena of the replay. */
const char *axis_name(const struct replay_job *job, int comm);

#endif

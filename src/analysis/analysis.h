/* SPDX-License-Identifier: MIT
 *
 * All numbers that `specter analyze` reports, from one run. Definitions: docs/analyze.md.
 *
 *     struct analysis a;
 *     if (analysis_init(&a, &run, ANALYSIS_ALL_RANKS, e) < 0)
 *         return e->code;
 *     ...
 *     analysis_release(&a);
 *
 * Time breakdowns, top operations, GEMMs and all else that belongs to ranks is of the selected rank
 * or of all ranks; communication is always over all ranks.
 */
#ifndef SPECTER_ANALYSIS_ANALYSIS_H
#define SPECTER_ANALYSIS_ANALYSIS_H

#include "analysis/comm.h"
#include "analysis/comm_rows.h"
#include "analysis/critical.h"
#include "analysis/hang.h"
#include "analysis/pipeline.h"
#include "analysis/steps.h"
#include "analysis/stragglers.h"
#include "analysis/streams.h"
#include "analysis/time_breakdown.h"
#include "analysis/traffic.h"
#include "analysis/work.h"
#include "trace/activity.h"

#define ANALYSIS_ALL_RANKS INT64_MIN

struct rank_result {
    const struct rank *rank;       /* borrowed from the run */
    const struct arrival *arrival; /* borrowed from stragglers */
    struct time_breakdown breakdown;
    struct time_breakdown recorded; /* the same of all that was recorded */
};

struct analysis {
    const struct run *run; /* borrowed */
    bool all_rows; /* the caller prints tables in full: their sheets have all rows, however many */

    /* The selected ranks. */
    struct rank_result *ranks; /* owned; by rank */
    size_t nranks, cap_ranks;
    size_t ntimed;               /* those with device times */
    unsigned coverage;           /* enum coverage: what each of their traces looks at */
    struct time_breakdown total; /* sum */
    struct work work;
    struct other_work other_work;
    struct idle idle;
    struct launch_table launches;
    struct queue_table queues;
    struct steps steps;
    uint64_t gemm_sample; /* the largest N: at times only one GEMM in N is recorded or timed */

    /* All ranks. */
    struct job_steps job_steps;
    struct step_time step_time;
    struct machine machine; /* of the recording */
    struct node_map node_map;
    struct comm_study comm;
    struct comm_rows collectives, p2p;  /* rows as in JSON */
    struct comm_rows collectives_named; /* told apart by the name of the communicator */
    struct stragglers stragglers;
    struct traffic traffic;
    struct alltoalls alltoalls;
    struct hangs hangs;
    struct bubbles bubbles;
    struct critical critical;
};

/* `rank` is a global rank or ANALYSIS_ALL_RANKS. 0, or -1 with e filled: no such rank in the run
 * (the message lists what there is). The run must outlive the analysis. On failure nothing needs
 * releasing. */
int analysis_init(struct analysis *a, const struct run *run, int64_t rank, struct err *e);

/* The same, where the user says what the GPUs and the network of the recording are; NULL: as the
 * traces tell. */
int analysis_init_on(struct analysis *a, const struct run *run, int64_t rank,
                     const struct gpu_profile *gpu, const struct network_profile *net,
                     struct err *e);
void analysis_release(struct analysis *a);

/* The analysis of one rank, a->ranks[index], as analysis_init() with that rank would have it.
 * Results over all ranks are borrowed from `a`: release it with analysis_of_rank_release() alone,
 * and before `a`. */
void analysis_of_rank(struct analysis *out, const struct analysis *a, size_t index);
void analysis_of_rank_release(struct analysis *out);

/* True when some selected rank has device times; without any, every time is 0 and means nothing. */
bool analysis_timed(const struct analysis *a);

/* The mean of a sum over the ranks that have device times, as `total` holds. */
double analysis_mean_ns(const struct analysis *a, int64_t sum_ns);

/* Returns whether communicators have at least two different names, so that rows by name say
 * more. */
bool analysis_has_names(const struct analysis *a);

/* Share of the recorded time that a rank spends in the transfers of a row, on average; less than
 * ANALYSIS_COMM_MIN is not judged. */
#define ANALYSIS_COMM_MIN 0.01
double analysis_comm_share(const struct analysis *a, const struct comm_row *row);

/* The bound of the job, the largest part of its critical path, and why these differ; why is NULL
 * where they do not differ, or there is no path. */
struct analysis_verdict {
    enum bound time, path;
    double path_share; /* of the path; NAN: there is none, or most of it is not explained */
    const char *why;
};

struct analysis_verdict analysis_verdict(const struct analysis *a);

/* part / whole, NAN when whole is not positive. */
double share_of(int64_t part_ns, int64_t whole_ns);

#endif

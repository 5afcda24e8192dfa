/* SPDX-License-Identifier: MIT
 *
 * What the communication of one rank takes in an iteration, by the axes of the grid that its
 * communicators span: "dp", "tp", "dp x ep". Where no grid was found, communicators of one size are
 * taken together: "groups of 8".
 *
 *     struct axis_times t;
 *     axis_times_measure(&t, job, true);
 *     for (int i = 0; i < t.count; i++)
 *         use(t.list[i].name, t.list[i].exposed_ns);
 *
 * total: in which one of them is under way, waits included. exposed: of it, in which the rank
 * neither computes nor waits for its neighbour in the pipeline; a moment in which several axes are
 * exposed counts to equal parts for each, so that the exposed times add up to exposed_comm_ns of
 * the step. Both are means over the ranks.
 */
#ifndef SPECTER_SIM_REPLAY_AXIS_TIME_H
#define SPECTER_SIM_REPLAY_AXIS_TIME_H

#include "sim/step/step_measure.h"

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

/* SPDX-License-Identifier: MIT
 *
 * Launchers: the programs that start the processes of a job, and the environment variables in which
 * each numbers them. The tracer, which shares nothing with programs but names, has a list of its
 * own (tracer/config.c).
 *
 *     for (int i = LAUNCHER_TORCHRUN; i <= LAUNCHER_PMI; i++)
 *         if (launcher_started(&launchers[i]))
 *             ... launcher_env(launchers[i].rank) is this process's number ...
 */
#ifndef SPECTER_BASE_LAUNCHER_H
#define SPECTER_BASE_LAUNCHER_H

#include <stdbool.h>

struct launcher {
    const char *name;
    const char *rank, *world;             /* this process's number, and how many there are */
    const char *local_rank, *local_world; /* the same on this machine; NULL: it does not say */
    const char *needed;                   /* a process is the launcher's where this is set, too */
    const char *lowest, *step;            /* of the numbers that it gives; NULL: 0 and 1 */
};

/* In the order in which they are asked. Up to LAUNCHER_PMI the processes are ranks of one program;
 * the last two start parts of a job that need not know each other. */
enum {
    LAUNCHER_TORCHRUN,
    LAUNCHER_OPEN_MPI,
    LAUNCHER_MPI,
    LAUNCHER_SRUN,
    LAUNCHER_PMI,
    LAUNCHER_JOB_ARRAY,
    LAUNCHER_KUBERNETES,
    LAUNCHER_COUNT,
};

extern const struct launcher launchers[LAUNCHER_COUNT];

/* The value of a variable, borrowed from the environment; NULL where it is not set, or empty, and
 * for a NULL name. */
const char *launcher_env(const char *name);

/* Returns whether its variables, without `world`, say that it started this process. */
bool launcher_started(const struct launcher *l);

#endif

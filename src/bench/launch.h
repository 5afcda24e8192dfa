/* SPDX-License-Identifier: MIT
 *
 * Starts one process for each GPU of this machine, where no launcher did: the same command again,
 * with the variables that place.h reads. Nothing is left behind: the processes end with this one,
 * however it ends.
 */
#ifndef SPECTER_BENCH_LAUNCH_H
#define SPECTER_BENCH_LAUNCH_H

#include "base/err.h"

/* Runs `argv` (of main, ends with NULL) `count` times and waits for all of them. SIGINT, SIGTERM
 * and SIGHUP are passed on; processes that run on for ten seconds behind the first failure, or
 * behind such a signal, are killed. Returns 128 + n where signal n ended a process, else the exit
 * status of the first one that failed; 0: none did. -1 with e filled (ERR_INPUT): not all could
 * be started. */
int bench_launch(int count, char **argv, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Which process of a job this one is, as its launcher says in the environment. Known launchers, in
 * this order: torchrun and `specter bench` itself (RANK, WORLD_SIZE), Open MPI's mpirun (OMPI_*),
 * other launchers of MPI (PMI_*, MPI_LOCALRANKID), srun (SLURM_*), other PMI (PMI_*).
 *
 *     struct bench_place place;
 *     if (bench_place_read(&place, e) < 0) ...
 *     if (!place.launched)
 *         ... no launcher started several processes: bench does it itself: bench_launch()
 */
#ifndef SPECTER_BENCH_PLACE_H
#define SPECTER_BENCH_PLACE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_PORT                                                                 \
    29500 /* where rank 0 listens unless the environment or an option names a port \
           */
#define BENCH_HOST_MAX 256

/* Variables that `specter bench` sets for the processes that it starts itself. */
#define BENCH_ENV_NONCE "SPECTER_BENCH_NONCE"   /* hexadecimal digits that only this job knows */
#define BENCH_ENV_LISTEN "SPECTER_BENCH_LISTEN" /* descriptor of rank 0's listening socket */

struct bench_place {
    bool launched; /* a launcher started this process as one of `world` */
    const char
        *launcher;   /* "torchrun", "srun", "mpirun", "MPI", "specter"; "" where not launched */
    int rank, world; /* 0 and 1 where not launched */
    int local_rank;  /* among the processes of this machine; -1: not known */
    int local_world; /* -1: not known */
    char master[BENCH_HOST_MAX]; /* name or address of rank 0's machine */
    int port;
    /* What all processes of the job know and few others: a connection from elsewhere is told by
     * it. Of the job's names in the environment, not a secret, unless BENCH_ENV_NONCE is set. */
    uint64_t nonce[2];
};

/* Reads the environment. 0, or -1 with e filled (ERR_USAGE): the variables contradict each other,
 * or one is missing; the message then has the export to type. */
int bench_place_read(struct bench_place *place, struct err *e);

/* The first host of a list as Slurm writes it: "gpu[07-09,12],login1" is gpu07. 0, or -1: `list`
 * has no such form, or the name is longer than `size` - 1. */
int bench_place_first_host(const char *list, char *host, size_t size);

/* Starts one process for each GPU of this machine, where no launcher did: the same command again,
 * with the variables that bench_place_read() reads. Nothing is left behind: the processes end with
 * this one, however it ends.
 *
 * Runs `argv` (of main, ends with NULL) `count` times and waits for all of them. SIGINT, SIGTERM
 * and SIGHUP are passed on; processes that run on for ten seconds after the first failure, or
 * after such a signal, are killed. Returns 128 + n where signal n ended a process, else the exit
 * status of the first one that failed; 0: none did. -1 with e filled (ERR_INPUT): not all could
 * be started. */
int bench_launch(int count, char **argv, struct err *e);

#endif

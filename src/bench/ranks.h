/* SPDX-License-Identifier: MIT
 *
 * Messages between the ranks of a benchmark, apart from the library that is measured: over TCP,
 * each rank with rank 0. Small data of a fixed length: ids, times, what went wrong.
 *
 *     status = bench_ranks_join(&place, 60, &ranks, e);
 *     bench_ranks_gather(ranks, &mine, sizeof mine, all, e)      all: `world` of them, by rank
 *     bench_ranks_leave(ranks);
 *
 * Every exchange is made by all ranks in the same order. Where one of them fails or ends, all
 * others learn it at their next exchange, with its number and what it said.
 *
 * Rank 0 listens on the address that place->master means, and on no other. A connection counts when
 * its first message, of fixed length, holds the job's nonce and a rank that has not come yet; any
 * other is closed, so that neither a scanner of ports nor a rank of another job disturbs.
 */
#ifndef SPECTER_BENCH_RANKS_H
#define SPECTER_BENCH_RANKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- place.c ----
 *
 * The place of this process in its job, as its launcher gives it in the environment. Known
 * launchers, in this order: torchrun and `specter bench` itself (RANK, WORLD_SIZE), Open MPI's
 * mpirun (OMPI_*), other launchers of MPI (PMI_*, MPI_LOCALRANKID), srun (SLURM_*), other PMI
 * (PMI_*).
 *
 *     struct bench_place place;
 *     if (bench_place_read(&place, e) < 0) ...
 *     if (!place.launched)
 *         ... no launcher started several processes: bench does it itself: bench_launch() */

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
    /* A number that all processes of the job know and few others: a connection from elsewhere is
     * told by it. Of the job's names in the environment, not a secret, unless BENCH_ENV_NONCE is
     * set. */
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

/* ---- ranks.c ---- */

struct bench_ranks;

/* Waits until all ranks have come, for at most timeout_s seconds. 0, or -1 with e filled
 * (ERR_INPUT): the port is taken, or a rank did not come, which is then named on all ranks. *ranks
 * is owned in any case. Of a job of one rank nothing is opened. */
int bench_ranks_join(const struct bench_place *place, double timeout_s, struct bench_ranks **ranks,
                     struct err *e);

/* Puts what each rank gives, `size` bytes, to all[rank * size]; `all` holds world * size bytes. 0,
 * or -1 with e filled: a rank failed, ended, or did not answer within timeout_s. A rank answers
 * that is at the exchange or in a loop of bench_ranks_check(). */
int bench_ranks_gather(struct bench_ranks *r, const void *mine, size_t size, void *all,
                       struct err *e);

/* Rank 0's bytes to all. */
int bench_ranks_from_first(struct bench_ranks *r, void *bytes, size_t size, struct err *e);

/* Each of `values` becomes the largest over the ranks. */
int bench_ranks_max(struct bench_ranks *r, double *values, size_t count, struct err *e);

/* Tells the others, at the exchange that they make next, that this rank cannot go on; unless
 * another one has failed before. */
void bench_ranks_fail(struct bench_ranks *r, const struct err *e);

/* For loops that wait for the device: has any rank failed or ended meanwhile? 0, or -1 with e
 * filled. */
int bench_ranks_check(struct bench_ranks *r, struct err *e);

/* Called out of such a loop where the device has ended no call for timeout_s, or where a call of
 * the library does not return (bench/backend.h). Always -1, with e filled on all ranks: which ranks
 * do not answer, else which are behind in a call, else that all answer. */
int bench_ranks_blocked(struct bench_ranks *r, struct err *e);

/* The call of the library that this rank is in from now on, which others are told when they ask;
 * NULL: none. */
void bench_ranks_in_call(struct bench_ranks *r, const char *call);

/* Returns whether another rank says what went wrong: rank 0, once it knows of this one; rank 1
 * where rank 0 is lost. */
bool bench_ranks_silent(const struct bench_ranks *r);

/* This machine's address on the way between the ranks, in figures: "10.0.0.7". */
int bench_ranks_address(const struct bench_ranks *r, char *address, size_t size, struct err *e);

/* Returns whether an exchange has failed, or bench_ranks_fail was called: the job is over. */
bool bench_ranks_failed(const struct bench_ranks *r);

/* Sums up: where any rank has failed (status -1, its message in e), all of them get -1 and the
 * lowest such rank's message, with its number in front. */
int bench_ranks_agree(struct bench_ranks *r, int status, struct err *e);

/* As bench_ranks_agree, where other ranks may wait for this one's calls: they learn of its failure
 * at once, and the job is over. */
int bench_ranks_agree_or_fail(struct bench_ranks *r, int status, struct err *e);

void bench_ranks_leave(struct bench_ranks *r); /* NULL is fine */

/* ---- ranks_socket.c, for ranks.c ---- */

/* Milliseconds until then, for poll(). */
int bench_socket_left_ms(double until_s);

/* Sends or receives all bytes before the deadline. 0, or -1: closed, refused, or too late (errno is
 * ETIMEDOUT). */
int bench_socket_transfer(int fd, void *bytes, size_t size, bool sending, double until_s);

/* Opens rank 0's listening socket, on one of the addresses that place->master means alone, unless a
 * launcher of ours has opened it already. -1 with e filled. */
int bench_socket_listen(const struct bench_place *place, struct err *e);

/* Connects to rank 0, within timeout_s. -1 with e filled. */
int bench_socket_connect(const struct bench_place *place, double timeout_s, struct err *e);

void bench_socket_set_options(int fd); /* of a connection */

/* This machine's address on the connection, in figures. */
int bench_socket_address(int fd, char *address, size_t size, struct err *e);

#endif

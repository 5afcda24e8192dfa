/* SPDX-License-Identifier: MIT
 *
 * What the ranks of a benchmark say to each other beside the library that is measured: over TCP,
 * each with rank 0. Small data of a fixed length: ids, times, what went wrong.
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

#include "bench/place.h"

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

#endif

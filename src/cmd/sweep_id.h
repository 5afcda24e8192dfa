/* SPDX-License-Identifier: MIT
 *
 * The id of a point: what is asked, as a number that is the same on every machine, in every grid
 * and in every order. It is FNV-1a (64 bits) of the lines
 *
 *     specter.sweep/1
 *     run=ID              the recording's own run id, where it has one
 *     trace=DIGEST        sweep_digest(), 16 hexadecimal digits
 *     COLUMN=VALUE        each option that is not at its default, in the order of sweep_axes[]
 *     scale=N
 *
 * each ended by a line feed. A compiled-in profile is its name; one from a file is its figures, as
 * `specter profiles NAME --json` prints one without white space. Where a recording lies does not
 * matter, nor which version of specter answers.
 */
#ifndef SPECTER_CMD_SWEEP_ID_H
#define SPECTER_CMD_SWEEP_ID_H

#include "cmd/sweep_grid.h"

/* What was recorded: of every rank its number and GPU, and its operations with all that a replay
 * takes from them. No time enters that depends on how clocks of several machines were aligned. */
uint64_t sweep_digest(const struct run *run);

/* What the ids of a job's points begin with, and the id of one. */
uint64_t sweep_job_hash(const struct sweep_grid *g, size_t job, const char *run_id,
                        uint64_t digest);
uint64_t sweep_point_id(uint64_t job_hash, int64_t scale);

#endif

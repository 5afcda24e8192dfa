/* SPDX-License-Identifier: MIT
 *
 * For replay.c and job.c: the facts that a result must tell about itself, each found where its
 * figures are at hand.
 */
#ifndef SPECTER_SIM_REPLAY_NOTES_H
#define SPECTER_SIM_REPLAY_NOTES_H

#include "sim/replay/facts.h"
#include "sim/target/overlap.h"
#include "sim/replay/replay.h"
#include "sim/whatif/whatif.h"

void note_program(struct replay *rep, const struct program *p);

/* Notes how long the recorded ranks waited for those that were not: after absent_wait_find(). */
void note_absent_waits(struct replay *rep, const struct program *p);
void note_iterations(struct replay *rep);
void note_grid(struct replay *rep);
/* How ranks sit on nodes. */
void note_placement(struct replay *rep, const struct weak_scaling *g);

/* Where what the user tells of the grid contradicts the operations. */
void note_given_grid(struct replay *rep);

/* What is divided with the batch; the share whose part is not known. */
void note_strong(struct replay *rep, const struct strong_scaling *s);
void note_undivided(struct replay *rep, double share);

/* All-to-alls that are made of messages. */
void note_exchanges(struct replay *rep, const struct weak_scaling *g);

void note_growth(struct replay *rep, const struct weak_scaling *g);
void note_overlap(struct replay *rep, const struct overlap *o);

/* Why --host-speed changes nothing at scale 1, where it does not. */
void note_host_speed(struct replay *rep, const struct iteration_time *target);

/* What was learned of the steps' variation, or is given. */
void note_variation(struct replay *rep, const struct whatif_opts *opts);

/* Names the faults that lie outside the job of so many GPUs, and returns how many. */
size_t note_absent_faults(struct replay *rep, const struct whatif *v, int64_t gpus);

/* Notes the cost of the faults: the step without them and with them; the reason where they change
 * nothing. */
void note_faults(struct replay *rep, const struct retarget *faulty, double fault_free_ns,
                 double fault_ns);

void note_latency(struct replay *rep);
void note_costs(struct replay *rep, const struct retarget *t);

#endif

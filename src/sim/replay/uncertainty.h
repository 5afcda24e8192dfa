/* SPDX-License-Identifier: MIT
 *
 * Between which times a predicted step lies, in half of all cases and in 80 %, and what that rests
 * on: the errors of the models on machines that they had not seen (model/accuracy.h), carried
 * through the simulation.
 *
 * Each cost of a target has an error by its basis. What was measured and kept has none. What is
 * measured x model(target) / model(source) has that of both models, the root of the squares of
 * their logarithms; a model's own time has that of one. Within a basis all costs are wrong in the
 * same direction: the job is simulated once with all of them at the long end of their 80 % and once
 * at the short end, so that overlapped work costs nothing until it is exposed. The fill of a
 * one-way transfer is part of its cost and has the same error. Bases are independent of each other:
 * the root of the sum of squares, to either side.
 *
 * Where the hardware was not measured, or a rule without a model applies, the error is not known.
 * An assumption stands for it, and is counted as unmeasured: for models, the 90th percentile of
 * errors on machines that they had not seen; for kernels without a model, as much as the rule
 * changes their time; half to twice the time (UNCERTAINTY_BLIND) for what was kept for want of a
 * source, on hardware that was asked for, and for communication of unknown size, or whose
 * communicator may be another on the target.
 *
 * Waits for ranks that were not recorded take as much longer or less as computation does
 * (retarget.h), which is a rule without a model: its error is what it changes. Kept on hardware
 * that was asked for, while the recording's is not known, they may be anything. And the missing
 * ranks communicate for as large a part of their time as the recorded ones: by that part of what
 * communication changes on the target the waits may change. Which rank waits for which is not seen,
 * so that on another target half of a wait (UNCERTAINTY_WAIT) may be gone, or come. What even the
 * shortest transfer of a kind took beyond the model may have been the transfer and no wait: it may
 * change as much as the transfer.
 *
 * A rank that a fault slows down makes transfers wait for their last member; the others may have
 * done a part of them by then (retarget_done_early()), by which those may be shorter.
 *
 * Beside these, and independent of them: how far the replay of the recording is off on its own
 * hardware; how far the mean of the recorded steps may be off the job's; host time that was spent
 * waiting for something which the recording does not tell, all of which may be gone on other
 * hardware, or longer. Other host time and launch latency are kept, and count as known.
 *
 * Of fewer than STEPS_FEW step lengths it is not known whether steps warm up: a first step is
 * noticed to do so from STEP_WARM_UP times the others on, so that one alone may be half as long
 * again, STEP_ALONE either way of the middle. Of several the first has no length; what the steps
 * after it still differ from the mean of many is taken as STEP_SECOND.
 */
#ifndef SPECTER_SIM_REPLAY_UNCERTAINTY_H
#define SPECTER_SIM_REPLAY_UNCERTAINTY_H

#include "sim/replay/path.h"
#include "sim/target/retarget.h"

#define STEP_ALONE 0.25
#define STEP_SECOND 0.10
#define UNCERTAINTY_BLIND 2.0
#define UNCERTAINTY_WAIT 0.5
#define UNCERTAINTY_HALF 0.526 /* half of a normal distribution is within so much of its 80 % */

/* The basis of a cost, and of a part of the path: X(ID, name in JSON, words for its part
 * of the path, words for what its error is of)
 *
 *   KEPT     measured times; host time
 *   RULE     kernels, copies, graphs: a ratio of the hardware's figures
 *   WAIT     waits for ranks that were not recorded
 *   UNSIZED  communication of unknown size, or in an unknown communicator: its share is of the step
 *   LATE     what is done of transfers before a slowed member is there: it has no part of the path
 *            of its own
 */
#define BASES(X)                                                                                \
    X(KEPT, "measured", "measured times", "measured times")                                     \
    X(COLLECTIVE, "collectives", "model of collectives", "collectives")                         \
    X(P2P, "messages", "model of messages", "messages")                                         \
    X(GEMM, "gemms", "model of GEMMs", "GEMMs")                                                 \
    X(RULE, "rules", "ratios of hardware figures", "ratios of the hardware's figures")          \
    X(WAIT, "absent_waits", "waits for absent ranks", "waits for ranks that were not recorded") \
    X(UNSIZED, "unknown_size", "communication of unknown size",                                 \
      "communication of unknown size or communicator")                                          \
    X(LATE, "late_members", "slowed members", "collectives with a straggler")

enum basis {
#define X(id, name, path_text, error_text) BASIS_##id,
    BASES(X)
#undef X
        BASIS_COUNT
};

struct basis_words {
    const char *name, *path_text, *error_text;
};

extern const struct basis_words basis_words[BASIS_COUNT];

struct uncertainty {
    double interval50[2], interval80[2]; /* ns, low and high; NAN: not known, or not asked for */
    double share;                   /* half the width of interval80, of the iteration; likewise */
    double shares[BASIS_COUNT];     /* of the path; BASIS_UNSIZED: of the iteration */
    double errors[BASIS_COUNT];     /* of 80 %: mean of the path's parts, weighted by time */
    double unknown[BASIS_COUNT];    /* of the path, where the error is not known */
    double shorter_ns[BASIS_COUNT]; /* the step, with all costs of the basis at the short end */
    double longer_ns[BASIS_COUNT];  /* and at the long end of their 80 % */
    double replay;                  /* |recorded / replayed - 1|, on the same hardware */
    double waits;      /* of the hosts' time, spent waiting for what the recording does not tell:
                          CPU time, which it may not be */
    double steps;      /* their spread, and that fewer than STEPS_FEW have a length */
    double unmeasured; /* of the path, where the error is not known: sum */
    double wait_ratio; /* by which waits for ranks that were not recorded are scaled */
};

/* The certainty of a replay as a whole. */
struct certainty {
    double replay;    /* as above; 0 when not known */
    double waits;     /* as above */
    uint32_t steps;   /* recorded to their end */
    uint32_t lengths; /* of these, which the step time is the mean of */
    double spread;    /* how far the mean of these may be off (struct iteration_spread) */
    bool gpu_known, network_known; /* of the recording: else no ratio to it means anything */
    bool gpu_asked_for, network_asked_for; /* of the target: another one, perhaps */
    double unsized; /* share of the iteration: communication of unknown size, see above */
    bool slowed;    /* a fault slows ranks down */
};

/* All but the intervals. t: of the simulation that the path is of. */
int uncertainty_of(struct uncertainty *out, const struct path *path, const struct retarget *t,
                   const struct certainty *known, struct err *e);

/* The error of one cost: within cost x exp(log50) and cost / exp(log50) in half of all cases. */
struct cost_error {
    enum basis basis;
    double log50, log80;
    double early; /* share of it that may be done before the last member is there; see above */
    bool known;
};

int uncertainty_of_cost(struct cost_error *out, const struct program_cost *cost,
                        const struct retarget *t, const struct certainty *known, struct err *e);

/* Returns the error of the wait before a transfer, 0 to 1 of it. known: of the job. */
double uncertainty_of_wait(const struct program_cost *cost, const struct retarget *t,
                           const struct certainty *known);

/* The intervals, from shorter_ns and longer_ns. half: by basis, how much of its 80 % half of all
 * cases are within. */
void uncertainty_sum(struct uncertainty *u, double span_ns, const double half[BASIS_COUNT]);

/* Makes the intervals unknown. */
void uncertainty_forget(struct uncertainty *u);

#endif

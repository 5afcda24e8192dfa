/* SPDX-License-Identifier: MIT
 *
 * How far a predicted iteration may be off, from the critical path and what the models' errors were
 * on measured hardware (model/accuracy.h).
 *
 * The path's time is shared out by what it rests on. What was measured and kept has no error. What
 * is measured x model(target)/model(source) has that of both models, as the root of their squares;
 * a model's own time has that of one. Within a class errors add up in proportion to its share, as
 * one model is wrong in one direction; classes, and how far the replay of the recording on its own
 * hardware is off, are independent: the root of the sum of squares.
 *
 * Where the hardware was not measured, or a rule without a model applies, the error is not
 * known. A bar stands for it and says so: the 90th percentile of errors on machines that the models
 * had not seen; for kernels without a model as much as the rule changes their time; and all of a
 * time that was kept for want of a source, on hardware that was asked for.
 *
 * Communication of unknown size keeps its measured time, too. Where its communicator may be another
 * on the target, all of it that the rank spends in an iteration is unknown, on the path or not:
 * what computation overlaps today may be longer than the computation there.
 *
 * Waits for ranks that were not recorded take as much longer or less as computation does
 * (absent_wait.h), which is a rule without a model: its error is what it changes. Kept on hardware
 * that was asked for, while the recording's is not known, they may be anything. And the missing
 * ranks communicate for as large a part of their time as the recorded ones: by that part of what
 * communication changes on the target the waits may change. What even the shortest transfer of a
 * kind took beyond the model may have been the transfer and no wait: it may change as much as the
 * transfer.
 *
 * Steps differ: how far the mean of the recorded ones may be off the job's is independent of all
 * that, too.
 *
 * Host time and launch latency are kept, and count as known; but for calls that waited for
 * something which the recording does not tell: all of that may be gone on other hardware, or
 * longer.
 *
 * Of fewer than STEPS_FEW step lengths it is not known whether steps warm up: a first step is
 * noticed to do so from STEP_WARM_UP times the others on, so that one alone may be half as long
 * again, STEP_ALONE either way of the middle. Of several the first has no length; what the steps
 * behind it still differ from the mean of many is taken as STEP_SECOND.
 */
#ifndef SPECTER_SIM_REPLAY_UNCERTAINTY_H
#define SPECTER_SIM_REPLAY_UNCERTAINTY_H

#include "sim/replay/path.h"
#include "sim/target/retarget.h"

#define STEP_ALONE 0.25
#define STEP_SECOND 0.10

/* The basis of a part of the path. */
enum basis {
    BASIS_KEPT, /* measured times; host time */
    BASIS_COLLECTIVE,
    BASIS_P2P,
    BASIS_GEMM,
    BASIS_RULE,    /* kernels, copies, graphs: a ratio of the hardware's figures */
    BASIS_WAIT,    /* waits for ranks that were not recorded */
    BASIS_UNSIZED, /* communication of unknown size, or in an unknown communicator */
    BASIS_COUNT
};

struct uncertainty {
    double share;                /* of the iteration, either way */
    double shares[BASIS_COUNT];  /* of the path; BASIS_UNSIZED: of the iteration */
    double errors[BASIS_COUNT];  /* mean of the class, weighted by time */
    double unknown[BASIS_COUNT]; /* of the path, where the error is not known */
    double replay;               /* |recorded / replayed - 1|, on the same hardware */
    double waits;                /* of the hosts' time, spent waiting for what the recording does
                                    not tell: CPU time, which it may not be */
    double steps;                /* their spread, and that fewer than STEPS_FEW have a length */
    double unmeasured;           /* of the path, where the error is not known: sum */
    double wait_ratio;           /* by which waits for ranks that were not recorded are scaled */
};

/* The certainty of a replay as a whole. */
struct certainty {
    double replay;                 /* as above; 0 when not known */
    double waits;                  /* as above */
    uint32_t steps;                /* recorded to their end */
    uint32_t lengths;              /* of these, which the step time is the mean of */
    double spread;                 /* how far the mean of these may be off (step_spread.h) */
    bool gpu_known, network_known; /* of the recording: else no ratio to it means anything */
    bool gpu_asked_for, network_asked_for; /* of the target: another one, perhaps */
    double unsized; /* share of the iteration: communication of unknown size, see above */
};

/* t: of the simulation that the path is of. */
int uncertainty_of(struct uncertainty *out, const struct path *path, const struct retarget *t,
                   const struct certainty *known, struct err *e);

const char *basis_name(enum basis basis); /* "collectives", ... */

#endif

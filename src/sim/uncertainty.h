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
 * Where nobody has measured the hardware, or a rule without a model applies, the error is not
 * known. A bar stands for it and says so: the 90th percentile of errors on machines that the models
 * had not seen; for kernels without a model as much as the rule changes their time; and all of a
 * time that was kept for want of a source, on hardware that was asked for.
 *
 * Host time and launch latency are kept, and count as known.
 */
#ifndef SPECTER_SIM_UNCERTAINTY_H
#define SPECTER_SIM_UNCERTAINTY_H

#include "sim/path.h"
#include "sim/retarget.h"

/* What a part of the path rests on. */
enum basis {
    BASIS_KEPT, /* measured times; host time */
    BASIS_COLLECTIVE,
    BASIS_P2P,
    BASIS_GEMM,
    BASIS_RULE, /* kernels, copies, graphs: a ratio of the hardware's figures */
    BASIS_COUNT
};

struct uncertainty {
    double share;                /* of the iteration, either way */
    double shares[BASIS_COUNT];  /* of the path */
    double errors[BASIS_COUNT];  /* mean of the class, weighted by time */
    double unknown[BASIS_COUNT]; /* of the path, where the error is not known */
    double replay;               /* |replayed - recorded| / recorded, on the same hardware */
    double unmeasured;           /* of the path, where the error is not known: sum */
};

/* What is known of a replay as a whole. */
struct certainty {
    double replay;                 /* as above; 0 when not known */
    bool gpu_known, network_known; /* of the recording: else no ratio to it means anything */
    bool gpu_asked_for, network_asked_for; /* of the target: another one, perhaps */
};

/* t: of the simulation that the path is of. */
int uncertainty_of(struct uncertainty *out, const struct path *path, const struct retarget *t,
                   const struct certainty *known, struct err *e);

const char *basis_name(enum basis basis); /* "collectives", ... */

#endif

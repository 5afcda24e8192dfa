/* SPDX-License-Identifier: MIT
 *
 * How far the models are from measurements, by class of hardware: profiles/accuracy.def, which
 * `make accuracy` writes from the measured tables with `specter validate`. Collectives and messages
 * go by network profile, products by GPU profile.
 *
 * A class is known when it has ACCURACY_ROWS_MIN rows: its figures are those of the parameters in
 * use, which were fitted on these rows, too. Of any other class the error is not known; what stands
 * for it is the 90th percentile of the class "any", whose rows are each predicted by parameters
 * fitted without that machine (messages: of all rows, as too few were measured to leave some out).
 */
#ifndef SPECTER_MODEL_ACCURACY_H
#define SPECTER_MODEL_ACCURACY_H

#include <stdbool.h>
#include <stddef.h>

#define ACCURACY_ROWS_MIN 10

enum accuracy_kind { ACCURACY_COLLECTIVE, ACCURACY_GEMM, ACCURACY_P2P, ACCURACY_KINDS };

struct accuracy {
    enum accuracy_kind kind;
    const char *key; /* name of a profile; "any" */
    int rows;
    double median_ape, p90_ape; /* |predicted - measured| / measured */
};

extern const struct accuracy accuracies[];
extern const size_t accuracy_count;

/* The error to expect of a class, as a share. *known: it is the class's own median; else it stands
 * in for it. */
double accuracy_of(enum accuracy_kind kind, const char *profile, bool *known);

/* As a share, what 90 % of the class's measured rows are within; of a class that is not known, what
 * 90 % of the rows of "any" are within. */
double accuracy_p90_of(enum accuracy_kind kind, const char *profile, bool *known);

#endif

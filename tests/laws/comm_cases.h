/* SPDX-License-Identifier: MIT
 *
 * Cases for the laws of communication: all operations on all pairs of profiles, sizes from 1 B to
 * 64 GiB, 1 to 16384 ranks, even and odd, laid out in many ways; the same ones in every run.
 */
#ifndef SPECTER_COMM_CASES_H
#define SPECTER_COMM_CASES_H

#include "model/cost.h"

struct comm_case {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
    enum specter_comm_op op;
    double bytes;
    struct layout where;
};

#define COMM_OPS (SPECTER_SCATTER + 1) /* the collectives come first */

/* Calls see with `per_pair` cases of each pair of profiles; the cost is what model_collective()
 * answers, and `choice` how it is done. */
void comm_cases_each(int per_pair,
                     void (*see)(const struct comm_case *c, const struct comm_cost *cost,
                                 const struct comm_choice *choice));

/* The case's time in us under a fixed choice; NAN when it cannot be done in that way. */
double comm_case_us(const struct comm_case *c, const struct comm_choice *choice);

/* Fails a test with the whole case in the message. */
void comm_case_fail(const char *file, int line, const char *law, const struct comm_case *c,
                    const struct comm_choice *choice, double before, double after);

/* after >= before, apart from rounding. */
#define CHECK_NOT_LESS(_law, _case, _choice, _before, _after)                              \
    do {                                                                                   \
        if (!((_after) >= (_before) * (1 - 1e-9)))                                         \
            comm_case_fail(__FILE__, __LINE__, _law, _case, _choice, (_before), (_after)); \
    } while (0)

#endif

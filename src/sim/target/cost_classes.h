/* SPDX-License-Identifier: MIT
 *
 * Costs of a program that are alike: the same product, kernel, copy, collective. What a model says
 * of one it says of all; and what one of them took is a measure for the others.
 */
#ifndef SPECTER_SIM_TARGET_COST_CLASSES_H
#define SPECTER_SIM_TARGET_COST_CLASSES_H

#include "sim/program/program.h"

struct cost_classes {
    uint32_t *of;    /* [program.ncosts] kind of each cost; owned */
    uint32_t *first; /* [count] a cost of each kind: the first; owned */
    uint32_t count;
};

/* To be released. */
void cost_classes_init(struct cost_classes *k, const struct program *p);
void cost_classes_release(struct cost_classes *k);

#endif

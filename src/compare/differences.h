/* SPDX-License-Identifier: MIT
 *
 * What makes the sides of a comparison hard to compare, and the settings that are not the same.
 */
#ifndef SPECTER_COMPARE_DIFFERENCES_H
#define SPECTER_COMPARE_DIFFERENCES_H

#include "compare/compare.h"

/* Fills c->differences and c->settings, from the first run of each side. */
void find_differences(struct comparison *c, struct compare_runs base, struct compare_runs test);

#endif

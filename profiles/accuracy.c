/* SPDX-License-Identifier: MIT
 *
 * The compiled-in errors of the models.
 */
#include "model/accuracy.h"

#define ACCURACY(_kind, _key, _rows, _median, _p90) {ACCURACY_##_kind, _key, _rows, _median, _p90},

const struct accuracy accuracies[] = {
#include "accuracy.def"
};

const size_t accuracy_count = sizeof accuracies / sizeof *accuracies;

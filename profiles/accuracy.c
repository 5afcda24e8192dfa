/* SPDX-License-Identifier: MIT
 *
 * The compiled-in errors of the models.
 */
#include "model/accuracy.h"

#define ACCURACY(_kind, _key, _rows, _median, _p90) {ACCURACY_##_kind, _key, _rows, _median, _p90},
#define INTERVAL(_class, _size, _rows, _machines, _factor50, _factor80, _ops)

const struct accuracy accuracies[] = {
#include "accuracy.def"
};

const size_t accuracy_count = sizeof accuracies / sizeof *accuracies;

#undef ACCURACY
#undef INTERVAL
#define ACCURACY(_kind, _key, _rows, _median, _p90)
#define INTERVAL(_class, _size, _rows, _machines, _factor50, _factor80, _ops) \
    {INTERVAL_##_class, SIZE_##_size, _rows, _machines, _factor50, _factor80, _ops},
#define OP(_op) (1u << SPECTER_##_op)

const struct accuracy_width accuracy_widths[] = {
#include "accuracy.def"
};

const size_t accuracy_width_count = sizeof accuracy_widths / sizeof *accuracy_widths;

/* SPDX-License-Identifier: MIT
 *
 * What PyTorch calls element types, and how it writes shapes.
 */
#ifndef SPECTER_TRACE_KINETO_NAME_H
#define SPECTER_TRACE_KINETO_NAME_H

#include "base/json.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element type by its name in PyTorch ("Float", "c10::BFloat16", "long int"). */
int kineto_dtype(struct json_text name);

/* The i-th of a list of types, or the i-th shape: up to `max` extents into dims, how many there
 * are; -1 when there is no such entry or it is no plain shape. */
int kineto_type_at(struct json_text types, int i);
int kineto_shape_at(struct json_text dims, int i, int64_t *out, int max);

/* Steps into a list and to its i-th element. */
bool kineto_go_to_item(struct json *j, struct json_text list, int i);

/* Elements of the shape, or of all shapes of the list, that j stands at; 0 for none. -1: too many
 * to be true. */
int64_t kineto_count_elements(struct json *j);

#endif

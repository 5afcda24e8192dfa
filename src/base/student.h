/* SPDX-License-Identifier: MIT */
#ifndef SPECTER_BASE_STUDENT_H
#define SPECTER_BASE_STUDENT_H

#include <stddef.h>

/* Student's t that lies within +-result with probability `level`, for 1 or more degrees of freedom
 * (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4). */
double student_t(double level, size_t freedom);

#endif

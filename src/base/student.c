/* SPDX-License-Identifier: MIT */
#include "base/student.h"

#include <math.h>
#include <stdbool.h>

/* The probability of Student's t within +-t. */
static double within(double t, size_t freedom)
{
    const double angle = atan(t / sqrt((double)freedom)), c = cos(angle);
    bool odd = freedom % 2 != 0;
    double term = odd ? c : 1, sum = 0;
    for (size_t k = odd ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= c * c * (double)(k - 1) / (double)k;
    }
    return odd ? (angle + sin(angle) * sum) / acos(0) : sin(angle) * sum;
}

double student_t(double level, size_t freedom)
{
    double low = 0, high = 1;
    while (within(high, freedom) < level && high < 1e9)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (within(middle, freedom) < level)
            low = middle;
        else
            high = middle;
    }
    return high;
}

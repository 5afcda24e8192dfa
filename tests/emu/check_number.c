/* SPDX-License-Identifier: MIT
 *
 * The number formats: every bit pattern comes back as it was, and rounding is to nearest even.
 */
#include <math.h>

#include "check.h"
#include "number.h"

static unsigned long compared;

static void round_trips(enum number type, unsigned patterns)
{
    for (unsigned bits = 0; bits < patterns; bits++) {
        unsigned short in = (unsigned short)bits, out = 0;
        double value = number_get(&in, 0, type);
        number_put(&out, 0, type, value);
        if (isnan(value))
            CHECK(isnan(number_get(&out, 0, type)), 1);
        else
            CHECK(out, in);
        compared++;
    }
}

static void rounds(enum number type, double value, unsigned bits)
{
    unsigned short out = 0;
    number_put(&out, 0, type, value);
    CHECK(out, bits);
    compared++;
}

int main(void)
{
    round_trips(NUMBER_F16, 65536);
    round_trips(NUMBER_BF16, 65536);
    round_trips(NUMBER_F8E4M3, 256);
    round_trips(NUMBER_F8E5M2, 256);
    rounds(NUMBER_F16, 1, 0x3c00);
    rounds(NUMBER_F16, 1 + 1.0 / 2048, 0x3c00); /* a tie goes to even */
    rounds(NUMBER_F16, 1 + 3.0 / 2048, 0x3c02); /* also upwards */
    rounds(NUMBER_F16, 65504, 0x7bff);
    rounds(NUMBER_F16, 65519, 0x7bff);
    rounds(NUMBER_F16, 65520, 0x7c00);          /* infinity */
    rounds(NUMBER_F16, -ldexp(1, -24), 0x8001); /* the smallest */
    rounds(NUMBER_F16, ldexp(1, -25), 0);       /* a tie */
    rounds(NUMBER_F16, ldexp(1.5, -25), 1);
    rounds(NUMBER_BF16, 1 + 1.0 / 256, 0x3f80);
    rounds(NUMBER_BF16, 3e38, 0x7f62);
    rounds(NUMBER_BF16, INFINITY, 0x7f80);
    rounds(NUMBER_F8E4M3, 448, 0x7e);
    rounds(NUMBER_F8E4M3, 1e6, 0x7e); /* no infinity */
    rounds(NUMBER_F8E5M2, 57344, 0x7b);
    rounds(NUMBER_F8E5M2, 1e6, 0x7c);
    printf("%lu numbers right\n", compared);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Numbers that look random and are the same in every run of a test.
 */
#ifndef SPECTER_TEST_MADE_RANDOM_H
#define SPECTER_TEST_MADE_RANDOM_H

#include <stdint.h>

/* The next state, of which the upper bits are the better ones. */
static inline uint64_t made_state(uint64_t *seed)
{
    return *seed = *seed * 6364136223846793005u + 1442695040888963407u;
}

/* 31 bits. */
static inline uint64_t made_random(uint64_t *seed)
{
    return made_state(seed) >> 33;
}

/* About normal: mean 0, standard deviation 1. */
static inline double made_noise(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(made_state(seed) >> 11) / 9007199254740992.0;
    return sum;
}

#endif

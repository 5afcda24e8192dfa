/* SPDX-License-Identifier: MIT
 *
 * A hash of several values, one after another, for telling things apart:
 *
 *     uint64_t key = hash_mix(hash_mix(seed, a), b);
 */
#ifndef SPECTER_BASE_HASH_H
#define SPECTER_BASE_HASH_H

#include <stdint.h>

static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

#endif

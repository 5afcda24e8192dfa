/* SPDX-License-Identifier: MIT
 *
 * Mixing for identities and for jitter that is the same in every run.
 */
#ifndef EMU_HASH_H
#define EMU_HASH_H

#include <stdint.h>

/* splitmix64's finaliser over the sum of both, so that hash(hash(a, b), c) chains. */
static inline uint64_t emu_hash(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15f39cc060u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number in [0, 1). */
static inline double emu_unit(uint64_t hash)
{
    return (double)(hash >> 11) / 9007199254740992.0;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Hashes of several values, one after another, for telling things apart: of whole numbers within
 * the process, and of bytes, the same on every machine (FNV-1a, 64 bits). And SHA-256.
 *
 *     uint64_t key = hash_mix(hash_mix(seed, a), b);
 *     uint64_t id = hash_bytes(hash_bytes(HASH_BYTES, "a", 1), "b", 1);      that of "ab"
 */
#ifndef SPECTER_BASE_HASH_H
#define SPECTER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_BYTES UINT64_C(0xcbf29ce484222325) /* of none */

static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood 2014): each bit of the input changes about
 * half of the output's bits. Of all 64-bit numbers, one to one. */
static inline uint64_t hash_finalize(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++)
        hash = hash_byte(hash, p[i]);
    return hash;
}

/* Of many bytes, eight at a time: within the process, or for a machine of the same kind. */
static inline uint64_t hash_words(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint64_t hash = hash_mix(HASH_BYTES, len), word;
    for (; len >= sizeof word; p += sizeof word, len -= sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = hash_mix(hash, word);
    }
    return hash_bytes(hash, p, len);
}

/* ---- SHA-256 (FIPS 180-4) ----
 *
 * A page names the hash of its script in its content policy, so that a browser runs that script and
 * no other. */

#define SHA256_BYTES 32
#define SHA256_BASE64 45 /* with the NUL */

void sha256(const void *data, size_t len, uint8_t digest[SHA256_BYTES]);

/* In base64 with padding, as content policies take it; in `out`, which it returns. */
char *sha256_base64(const void *data, size_t len, char out[SHA256_BASE64]);

#endif

/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4) of what is in memory: a page names the hash of its script in its content
 * policy, so that a browser runs that script and no other.
 */
#ifndef SPECTER_BASE_SHA256_H
#define SPECTER_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_BASE64 45 /* with the NUL */

void sha256(const void *data, size_t len, uint8_t digest[SHA256_BYTES]);

/* In base64 with padding, as content policies take it; in `out`, which it returns. */
char *sha256_base64(const void *data, size_t len, char out[SHA256_BASE64]);

#endif

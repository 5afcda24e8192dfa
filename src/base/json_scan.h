/* SPDX-License-Identifier: MIT
 *
 * What json.c and json_number.c share; for nobody else.
 */
#ifndef SPECTER_BASE_JSON_SCAN_H
#define SPECTER_BASE_JSON_SCAN_H

#include "base/json.h"

#include <string.h>

/* Notes the first error, of which p is the place; at the end of the text every error is that it is
 * cut. Returns false. */
bool json_fail(struct json *j, const char *error);

/* The next byte that is not white space, not consumed; '\0' at the end. */
static inline char next_byte(struct json *j)
{
    const char *p = j->p;
    while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    j->p = p;
    return p < j->end ? *p : '\0';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- eight bytes at a time ---- */

#define EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

static inline uint64_t load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

#endif

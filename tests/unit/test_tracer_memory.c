/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/tracer.h"

#include <errno.h>

#define PART ((size_t)1 << 20)
#define PARTS (MEMORY_MAX / PART) /* the rest, half of one, is for what other tests have left */

/* Whatever is asked for; and what was given back can be had again. */
TEST(tracer_memory_is_bounded)
{
    char *parts[PARTS + 1];
    size_t n = 0;
    errno = EINTR;
    while (n <= PARTS && (parts[n] = memory_map(PART)) != NULL)
        n++;
    CHECK_INT(n, PARTS);
    CHECK_INT(parts[0][PART - 1], 0);
    memory_unmap(parts[--n], PART);
    CHECK(memory_map(2 * PART) == NULL);
    parts[n++] = memory_map(PART - 1);
    CHECK(parts[n - 1] != NULL);
    CHECK_INT(errno, EINTR);
    while (n > 0)
        memory_unmap(parts[--n], PART);
}

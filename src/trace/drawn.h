/* SPDX-License-Identifier: MIT
 *
 * Chrome traces that specter itself writes (export --format chrome, replay's timeline) begin with
 * DRAWN_HEAD. They look like a profiler's, and often lie beside the recordings that they were made
 * of: the readers pass them over.
 */
#ifndef SPECTER_TRACE_DRAWN_H
#define SPECTER_TRACE_DRAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DRAWN_HEAD "{\"displayTimeUnit\":\"ns\",\"generator\":\"specter\",\"traceEvents\":["

static inline bool drawn(const char *head, size_t len)
{
    return len >= sizeof DRAWN_HEAD - 1 && memcmp(head, DRAWN_HEAD, sizeof DRAWN_HEAD - 1) == 0;
}

#endif

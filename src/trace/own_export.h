/* SPDX-License-Identifier: MIT
 *
 * Chrome traces that specter itself writes (export --format chrome, replay's timeline) begin with
 * OWN_EXPORT_HEAD. They look like a profiler's, and often lie beside the recordings that they were
 * made of: the readers pass them over.
 */
#ifndef SPECTER_TRACE_OWN_EXPORT_H
#define SPECTER_TRACE_OWN_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define OWN_EXPORT_HEAD "{\"displayTimeUnit\":\"ns\",\"generator\":\"specter\",\"traceEvents\":["

static inline bool is_own_export(const char *head, size_t len)
{
    return len >= sizeof OWN_EXPORT_HEAD - 1 &&
           memcmp(head, OWN_EXPORT_HEAD, sizeof OWN_EXPORT_HEAD - 1) == 0;
}

#endif

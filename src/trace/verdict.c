/* SPDX-License-Identifier: MIT */
#include "trace/verdict.h"

#include <stddef.h>

#define MOSTLY 0.5

const char *bound_name(enum bound bound)
{
    static const char *const names[] = {[BOUND_COMPUTE] = "compute",
                                        [BOUND_COMM] = "communication",
                                        [BOUND_COPIES] = "copies",
                                        [BOUND_HOST] = "host"};
    return names[bound];
}

enum bound bound_of(const double ns[BOUNDS])
{
    enum bound most = BOUND_COMPUTE;
    for (int b = 1; b < BOUNDS; b++)
        most = ns[b] > ns[most] ? (enum bound)b : most;
    return most;
}

const char *bound_why(enum bound time, enum bound path, bool sees_waits, double waiting)
{
    if (time == path)
        return NULL;
    if (path == BOUND_HOST && !sees_waits)
        return "the trace does not hold what the host waited for, so that its waits for the device "
               "count as its own time on the path";
    if (path == BOUND_HOST)
        return "the host is ahead of busy devices by so little that their work waits for its calls";
    if (time == BOUND_COMM && waiting >= MOSTLY)
        return "most of the exposed communication waits for other ranks, and the path goes on with "
               "what these do";
    if (time == BOUND_HOST)
        return "devices idle while others, or other streams, do what the path consists of";
    return "the path is one chain through the ranks, beside which other work runs";
}

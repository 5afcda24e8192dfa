/* SPDX-License-Identifier: MIT */
#include "cmd/recorded_bounds.h"

#include "analysis/analysis.h"

#include <math.h>

int recorded_bounds_find(struct recorded_bounds *out, const struct run *run, struct err *e)
{
    struct analysis a;
    struct analysis_verdict verdict;
    if (analysis_init(&a, run, ANALYSIS_ALL_RANKS, e) < 0)
        return -1;
    verdict = analysis_verdict(&a);
    *out = (struct recorded_bounds){verdict.time, verdict.path, !isnan(verdict.path_share)};
    analysis_release(&a);
    return 0;
}

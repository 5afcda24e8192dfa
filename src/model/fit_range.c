/* SPDX-License-Identifier: MIT */
#include "model/params.h"

enum fit_beyond fit_range_beyond(const struct fit_range *r, double size, double ranks, double nodes)
{
    if (size < r->smallest)
        return FIT_SMALLER;
    if (r->largest > 0 && size > r->largest)
        return FIT_LARGER;
    if (r->ranks > 0 && ranks > r->ranks)
        return FIT_RANKS;
    return r->nodes > 0 && nodes > r->nodes ? FIT_NODES : FIT_WITHIN;
}

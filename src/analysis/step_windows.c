/* SPDX-License-Identifier: MIT */
#include "analysis/step_windows.h"

struct step_windows step_windows_of(const struct run *run)
{
    struct step_windows w = {.count = 1};
    for (size_t r = 1; r < run->nranks; r++)
        w.uneven = w.uneven || run->ranks[r].nsteps != run->ranks[0].nsteps;
    if (w.uneven || run->nranks == 0 || run->ranks[0].nsteps == 0)
        return w;
    w.marked = true;
    w.count = run->ranks[0].nsteps;
    return w;
}

size_t step_at(const struct step_windows *w, const struct rank *rank, int64_t t_ns)
{
    size_t low = 0, high = rank->nsteps;
    if (!w->marked)
        return 0;
    if (t_ns == UNKNOWN_NS)
        return STEP_NONE;
    while (low < high) { /* the first one that begins later */
        size_t mid = low + (high - low) / 2;
        if (rank->steps[mid].start_ns <= t_ns)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0 || (low == rank->nsteps && t_ns >= rank->steps[low - 1].end_ns))
        return STEP_NONE;
    return low - 1;
}

int64_t op_issued_ns(const struct op *op)
{
    return op->host_ns != UNKNOWN_NS ? op->host_ns : op->start_ns;
}

/* SPDX-License-Identifier: MIT
 *
 * The steps of a rank that the program or the profiler marked.
 */
#include "trace/step_found.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

bool step_believable(const struct step *step)
{
    return step->start_ns != UNKNOWN_NS && step->end_ns != UNKNOWN_NS &&
           step->end_ns >= step->start_ns && step->start_ns > -RUN_TIME_MAX &&
           step->end_ns < RUN_TIME_MAX;
}

void step_find_marks(struct found *f, const struct rank *rank)
{
    f->list = array_new(rank->nsteps, sizeof *f->list);
    f->end_ns = INT64_MIN;
    for (size_t i = 0; i < rank->nsteps; i++) {
        const struct step *step = &rank->steps[i];
        if (!step_believable(step))
            continue;
        if (f->count > 0)
            f->end_ns = step->start_ns;
        f->cut = step->cut;
        if (step->cut)
            break;
        f->list[f->count++] = (struct found_step){step->start_ns, step->name, 0};
        f->end_ns = step->end_ns;
    }
}

/* Marks that a rank lacks are those of another, where both tell the same time. */
void step_lend_marks(struct found *list, const struct run *run)
{
    size_t from = SIZE_MAX;
    for (size_t r = 0; r < run->nranks && from == SIZE_MAX; r++)
        from = list[r].count > 0 ? r : from;
    for (size_t r = 0; r < run->nranks; r++) {
        if (!list[r].holds || list[r].count > 0 || from == SIZE_MAX || !run->clock_aligned)
            continue;
        free(list[r].list);
        list[r].list = array_new(list[from].count, sizeof *list[r].list);
        memcpy(list[r].list, list[from].list, list[from].count * sizeof *list[r].list);
        list[r].count = list[from].count;
        list[r].end_ns = list[from].end_ns;
    }
}

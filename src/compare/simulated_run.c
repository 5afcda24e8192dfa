/* SPDX-License-Identifier: MIT */
#include "compare/simulated_run.h"

/* Returns whether s->part is now the steps of the run that are enough. */
static bool take_steps(struct simulated_run *s, const struct analysis *a, uint32_t least)
{
    const uint32_t count = a->job_steps.count;
    const size_t ops = run_count_ops(a->run);
    uint32_t first, last;
    size_t n;
    if (ops <= SIMULATED_OPS || count == 0)
        return false;
    n = SIMULATED_OPS / (ops / count + 1);
    return run_part_typical(&a->job_steps, &a->step_time, n > least ? (uint32_t)n : least, &first,
                            &last) &&
           run_part_init(&s->part, a->run, &a->job_steps, first, last) == 0;
}

void simulated_run_release(struct simulated_run *s)
{
    altered_free(s->altered);
    if (s->part.nranks > 0)
        run_part_release(&s->part);
    *s = (struct simulated_run){0};
}

int simulated_run_init(struct simulated_run *s, const struct analysis *a, uint32_t least_steps,
                       size_t most_ops, struct err *e)
{
    struct err alone = {0};
    *s = (struct simulated_run){0};
    /* Steps that cannot be simulated alone give way to the whole run. */
    if (take_steps(s, a, least_steps)) {
        s->altered = altered_new(&s->part, &alone);
        if (s->altered != NULL)
            return 0;
        simulated_run_release(s);
    }
    if (run_count_ops(a->run) > most_ops)
        return err_set(e, ERR_INPUT, "it has more than %zu operations", most_ops);
    s->altered = altered_new(a->run, e);
    return s->altered != NULL ? 0 : -1;
}

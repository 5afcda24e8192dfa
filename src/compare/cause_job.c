/* SPDX-License-Identifier: MIT */
#include "compare/cause_job.h"

/* Returns whether the steps of the run that are enough are job->part now. */
static bool take_steps(struct cause_job *job, const struct analysis *a, uint32_t least)
{
    const uint32_t count = a->job_steps.count;
    const size_t ops = run_count_ops(a->run);
    uint32_t first, last;
    size_t n;
    if (ops <= CAUSES_OPS || count == 0)
        return false;
    n = CAUSES_OPS / (ops / count + 1);
    return run_part_typical(&a->job_steps, &a->step_time, n > least ? (uint32_t)n : least, &first,
                            &last) &&
           run_part_init(&job->part, a->run, &a->job_steps, first, last) == 0;
}

void cause_job_release(struct cause_job *job)
{
    altered_free(job->altered);
    if (job->part.nranks > 0)
        run_part_release(&job->part);
    *job = (struct cause_job){0};
}

/* Steps that are not simulated as they were recorded give way to all. */
int cause_job_init(struct cause_job *job, const struct analysis *a, uint32_t steps, size_t most,
                   struct err *e)
{
    struct err alone = {0};
    *job = (struct cause_job){0};
    if (take_steps(job, a, steps)) {
        job->altered = altered_new(&job->part, &alone);
        if (job->altered != NULL)
            return 0;
        cause_job_release(job);
    }
    if (run_count_ops(a->run) > most)
        return err_set(e, ERR_INPUT, "it has more than %zu operations", most);
    job->altered = altered_new(a->run, e);
    return job->altered != NULL ? 0 : -1;
}

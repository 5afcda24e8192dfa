/* SPDX-License-Identifier: MIT */
#include "sim/whatif/whatif.h"

#include "sim/whatif/whatif_job.h"

#include <stdlib.h>
#include <string.h>

static int check(const struct whatif_opts *opts, struct err *e)
{
    if (opts->jitter == JITTER_OFF || (opts->draws >= 2 && opts->draws <= JITTER_DRAWS_MAX))
        return 0;
    return err_set(e, ERR_USAGE, "--draws %lld: 2 to %d", (long long)opts->draws, JITTER_DRAWS_MAX);
}

int whatif_init(struct whatif *v, const struct whatif_opts *opts, struct err *e)
{
    v->opts = *opts;
    if (check(&v->opts, e) < 0)
        return -1;
    if (opts->nfaults > 0) {
        v->slow_work = array_new((size_t)v->world, sizeof *v->slow_work);
        v->slow_link = array_new((size_t)v->world, sizeof *v->slow_link);
        v->placed = array_new(opts->nfaults, sizeof *v->placed);
    }
    if (!whatif_has_jitter(v))
        return 0;
    v->base_ns = array_new(v->program->ncosts, sizeof *v->base_ns);
    jitter_learn(v);
    if (v->opts.jitter == JITTER_TRACE && v->variation.iterations < JITTER_STEPS_MIN)
        v->opts.jitter = JITTER_OFF;
    return 0;
}

void whatif_release(struct whatif *v)
{
    free(v->slow_work);
    free(v->slow_link);
    free(v->placed);
    free(v->base_ns);
    free(v->of);
    memset(v, 0, sizeof *v);
}

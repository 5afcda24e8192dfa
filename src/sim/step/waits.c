/* SPDX-License-Identifier: MIT */
#include "sim/step/waits.h"

#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The time of one member in a collective. */
struct spent {
    int64_t recorded_ns, replayed_ns;
};

static bool spent_by(const struct program *p, struct match_member m, struct spent *out)
{
    const struct op *op = &p->run->ranks[m.rank].ops[m.op];
    struct sim_span span = program_span(p, m.rank, m.op);
    if (!op_timed(op) || span.end_ns < 0)
        return false;
    *out = (struct spent){op->dur_ns, span.end_ns - span.start_ns};
    return true;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Finds the shortest time of a member; false where one was not recorded. */
static bool least(const struct program *p, const struct match *match, struct spent *out)
{
    struct spent one;
    if (match->nmembers < 2 || match->nmembers != match->expected ||
        specter_comm_op_is_p2p((enum specter_comm_op)match->op))
        return false;
    *out = (struct spent){INT64_MAX, INT64_MAX};
    for (uint32_t i = 0; i < match->nmembers; i++) {
        if (!spent_by(p, p->matches.members[match->first + i], &one))
            return false;
        out->recorded_ns = less(out->recorded_ns, one.recorded_ns);
        out->replayed_ns = less(out->replayed_ns, one.replayed_ns);
    }
    return true;
}

/* Waits of all members together. With `ranks` they are added to each one's. */
static struct rank_waits sum(const struct program *p, const struct match *match, struct spent base,
                             struct rank_waits *ranks)
{
    struct rank_waits all = {0, 0};
    struct spent one;
    for (uint32_t i = 0; i < match->nmembers; i++) {
        struct match_member m = p->matches.members[match->first + i];
        spent_by(p, m, &one);
        all.recorded_ns += (double)(one.recorded_ns - base.recorded_ns);
        all.replayed_ns += (double)(one.replayed_ns - base.replayed_ns);
        if (ranks == NULL)
            continue;
        ranks[m.rank].recorded_ns += (double)(one.recorded_ns - base.recorded_ns);
        ranks[m.rank].replayed_ns += (double)(one.replayed_ns - base.replayed_ns);
    }
    return all;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, order_doubles);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void waits_compare(struct waits *out, struct rank_waits *ranks, const struct program *p)
{
    double *off = malloc((p->matches.count + 1) * sizeof *off);
    if (off == NULL)
        die("out of memory");
    *out = (struct waits){0};
    memset(ranks, 0, p->run->nranks * sizeof *ranks);
    for (size_t i = 0; i < p->matches.count; i++) {
        const struct match *match = &p->matches.list[i];
        struct rank_waits all;
        struct spent base;
        if (!least(p, match, &base))
            continue;
        all = sum(p, match, base, NULL);
        if (all.recorded_ns < (double)WAITS_LEAST_NS * match->nmembers)
            continue;
        sum(p, match, base, ranks);
        out->recorded_ns += all.recorded_ns;
        out->replayed_ns += all.replayed_ns;
        off[out->collectives++] = fabs(all.replayed_ns / all.recorded_ns - 1);
    }
    out->median_off = median(off, out->collectives);
    free(off);
}

/* SPDX-License-Identifier: MIT */
#include "bench/common_clock.h"

#include <math.h>
#include <stdlib.h>

/* The line of a rank's host; false: too few moments. */
static bool find_line(const struct bench_drift_log *log, int rank, struct bench_host_line *out)
{
    struct bench_drift_point *points = bench_drift_of(log, log->host, rank);
    struct bench_drift_line line = bench_drift_fit(points, log->n, 1);
    double middle_s = 0;
    for (size_t i = 0; i < log->n; i++)
        middle_s += points[i].s / (double)log->n;
    free(points);
    *out = (struct bench_host_line){log->origin_ns + llround(middle_s * 1e9), line.offset_us,
                                    line.ppm};
    return isfinite(line.ppm);
}

void bench_common_clock_init(struct bench_common_clock *c, const struct bench_drift_log *before,
                             const struct bench_drift_log *after, const int *node_of)
{
    *c = (struct bench_common_clock){.ranks = before->ranks};
    c->lines = calloc((size_t)before->ranks + 1, sizeof *c->lines);
    if (c->lines == NULL)
        die("out of memory");
    for (int rank = 0; rank < before->ranks; rank++) {
        struct bench_host_line *line = &c->lines[rank], then;
        if (node_of[rank] == node_of[0])
            continue;
        if (!find_line(before, rank, line))
            *line = (struct bench_host_line){0};
        else if (after != NULL && find_line(after, rank, &then))
            line->ppm =
                (then.ahead_us - line->ahead_us) / ((double)(then.at_ns - line->at_ns) / 1e9);
    }
}

void bench_common_clock_release(struct bench_common_clock *c)
{
    free(c->lines);
    *c = (struct bench_common_clock){0};
}

int64_t bench_common_clock_ns(const struct bench_common_clock *c, int rank, int64_t host_ns)
{
    const struct bench_host_line *line;
    double s; /* since the line's moment, both by rank 0's host */
    if (rank < 0 || rank >= c->ranks || host_ns == 0)
        return host_ns;
    line = &c->lines[rank];
    s = ((double)(host_ns - line->at_ns) - 1e3 * line->ahead_us) / 1e9;
    return host_ns - llround(1e3 * (line->ahead_us + line->ppm * s));
}

void bench_common_clock_apply(const struct bench_common_clock *c, struct bench_p2p_done *done)
{
    for (size_t i = 0; i < done->nrepeats; i++) {
        struct bench_p2p_repeat *r = &done->repeats[i];
        r->start_ns = bench_common_clock_ns(c, done->config.src, r->start_ns);
        r->receive_start_ns = bench_common_clock_ns(c, done->config.dst, r->receive_start_ns);
        for (int k = 0; k < 2; k++) {
            r->calls_ns[0][k] = bench_common_clock_ns(c, done->config.src, r->calls_ns[0][k]);
            r->calls_ns[1][k] = bench_common_clock_ns(c, done->config.dst, r->calls_ns[1][k]);
        }
    }
}

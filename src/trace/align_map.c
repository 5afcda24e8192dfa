/* SPDX-License-Identifier: MIT */
#include "trace/align_map.h"

#include <math.h>

__extension__ typedef __int128 i128;

#define DRIFT_BITS 60 /* of the fraction by which a drift is multiplied: 2^60 * 0.5 fits */

int64_t clock_line_map(const struct clock_line *line, int64_t t_ns)
{
    int64_t shifted = ns_add(t_ns, line->offset_ns);
    i128 scaled;
    if (line->drift == 0 || shifted == UNKNOWN_NS)
        return shifted;
    scaled = ((i128)t_ns - line->at_ns) * (int64_t)ldexp(line->drift, DRIFT_BITS);
    scaled = (scaled + ((i128)1 << (DRIFT_BITS - 1))) >> DRIFT_BITS;
    if (scaled > RUN_TIME_MAX || scaled < -RUN_TIME_MAX)
        return UNKNOWN_NS;
    return ns_add(shifted, (int64_t)scaled);
}

struct clock_line clock_line_join(const struct clock_line *first, const struct clock_line *then)
{
    int64_t at = ns_add(first->at_ns, first->offset_ns), mapped = clock_line_map(then, at);
    return (struct clock_line){
        .offset_ns = mapped != UNKNOWN_NS ? mapped - first->at_ns : UNKNOWN_NS,
        .at_ns = first->at_ns,
        .drift = (1 + first->drift) * (1 + then->drift) - 1,
    };
}

struct clock_line clock_line_inverse(const struct clock_line *line)
{
    return (struct clock_line){
        .offset_ns = -line->offset_ns,
        .at_ns = line->at_ns + line->offset_ns,
        .drift = -line->drift / (1 + line->drift),
    };
}

static void map_pair(const struct clock_line *line, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = clock_line_map(line, *start_ns);
    *end_ns = clock_line_map(line, *end_ns);
}

static void map_op(const struct clock_line *line, struct op *op)
{
    int64_t end_ns = clock_line_map(line, ns_add(op->start_ns, op->dur_ns));
    map_pair(line, &op->host_ns, &op->host_end_ns);
    op->start_ns = clock_line_map(line, op->start_ns);
    if (line->drift != 0 && end_ns != UNKNOWN_NS && op->start_ns != UNKNOWN_NS)
        op->dur_ns = end_ns - op->start_ns;
}

void rank_map(struct rank *rank, const struct clock_line *line)
{
    for (size_t i = 0; i < rank->nops; i++)
        map_op(line, &rank->ops[i]);
    for (size_t i = 0; i < rank->nsync_calls; i++)
        map_pair(line, &rank->sync_calls[i].host_ns, &rank->sync_calls[i].host_end_ns);
    for (size_t i = 0; i < rank->nsteps; i++)
        map_pair(line, &rank->steps[i].start_ns, &rank->steps[i].end_ns);
    for (size_t i = 0; i < rank->nlaunches; i++)
        map_pair(line, &rank->launches[i].host_ns, &rank->launches[i].host_end_ns);
    for (size_t i = 0; i < rank->nmarks; i++)
        map_pair(line, &rank->marks[i].start_ns, &rank->marks[i].end_ns);
    map_pair(line, &rank->end_ns, &rank->dump_ns);
}

void rank_shift(struct rank *rank, int64_t by_ns)
{
    rank_map(rank, &(struct clock_line){.offset_ns = by_ns});
}

/* SPDX-License-Identifier: MIT
 *
 * Metrics of communication: calls, bytes and where they go, overlap, lag.
 */
#include "metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

void metric_coll_call_num(struct metrics *m, struct metric *metric)
{
    const struct comm_study *s = &m->in.analysis->comm;
    double calls[SPECTER_COMM_OP_COUNT + 1] = {0}, all = 0, instances = 0;
    double ranks = (double)m->in.run->nranks;
    for (size_t i = 0; i < s->count; i++) {
        const struct comm_instance *in = &s->list[i];
        calls[in->op < SPECTER_COMM_OP_COUNT ? in->op : SPECTER_COMM_OP_COUNT] += in->members;
        all += in->members;
        instances++;
    }
    metric->value = all / ranks;
    metric_number(metric, "all_ranks", all);
    metric_number(metric, "instances", instances);
    metric_number(metric, "unmatched", (double)s->unnumbered);
    calls[SPECTER_SEND] += calls[SPECTER_RECV]; /* a pair counts as a send of two members */
    calls[SPECTER_RECV] = 0;
    for (unsigned op = 0; op <= SPECTER_COMM_OP_COUNT; op++) {
        if (calls[op] > 0)
            metric_number(metric,
                          metric_key(m, "%s_per_rank",
                                     op == SPECTER_SEND ? "Send_Recv"
                                     : op < SPECTER_COMM_OP_COUNT
                                         ? specter_comm_op_name((enum specter_comm_op)op)
                                         : "unknown"),
                          calls[op] / ranks);
    }
}

/* ---- overlap ---- */

void metric_comm_comp_overlap(struct metrics *m, struct metric *metric)
{
    const struct time_breakdown *total = &m->in.analysis->total;
    double low = NAN, high = NAN;
    if (total->comm_ns == 0) {
        metric->reason = "no communication with device times";
        return;
    }
    metric->value = share_of(total->overlap_ns, total->comm_ns);
    for (size_t i = 0; i < m->in.analysis->nranks; i++) {
        const struct time_breakdown *s = &m->in.analysis->ranks[i].breakdown;
        double share = share_of(s->overlap_ns, s->comm_ns);
        low = fmin(low, share);
        high = fmax(high, share);
    }
    metric_number(metric, "of_compute", share_of(total->overlap_ns, total->compute_ns));
    metric_number(metric, "overlap_ms", (double)total->overlap_ns / 1e6);
    metric_number(metric, "comm_ms", (double)total->comm_ns / 1e6);
    metric_number(metric, "compute_ms", (double)total->compute_ns / 1e6);
    metric_number(metric, "lowest_rank", low);
    metric_number(metric, "highest_rank", high);
}

/* ---- lag ---- */

static void name_latest(const struct metrics *m, struct metric *metric)
{
    const struct analysis *a = m->in.analysis;
    const struct rank_result *worst = NULL;
    for (size_t i = 0; i < a->nranks; i++) {
        if (worst == NULL || a->ranks[i].arrival->caused_ns > worst->arrival->caused_ns)
            worst = &a->ranks[i];
    }
    if (worst == NULL || worst->arrival->caused_ns <= 0)
        return;
    metric_number(metric, "latest_rank", worst->rank->rank);
    metric_number(metric, "latest_rank_times", (double)worst->arrival->last);
    metric_number(metric, "latest_rank_caused_wait_ms", worst->arrival->caused_ns / 1e6);
}

void metric_straggler_lag(struct metrics *m, struct metric *metric)
{
    const struct comm_study *s = &m->in.analysis->comm;
    struct sample lags = {0};
    struct sample_stats stats;
    const char *source;
    for (size_t i = 0; i < s->count && m->in.run->clock_aligned; i++) {
        const struct coll_timing *timing = &s->list[i].timing;
        if (s->list[i].p2p || s->list[i].timed < 2 || timing->last_start_ns == UNKNOWN_NS ||
            timing->first_start_ns == UNKNOWN_NS)
            continue;
        sample_add(&lags, timing->last_start_ns - timing->first_start_ns);
    }
    sample_measure(&lags, &stats);
    metric->value = stats.mean / 1e6;
    if (lags.count == 0)
        metric->reason = m->in.run->clock_aligned ? "no collective of which two ranks have a start"
                                                  : "the ranks' clocks cannot be aligned";
    metric_number(metric, "count", (double)lags.count);
    metric_number(metric, "p50_ms", stats.median / 1e6);
    metric_number(metric, "p95_ms", stats.p95 / 1e6);
    metric_number(metric, "min_ms", stats.min / 1e6);
    metric_number(metric, "max_ms", stats.max / 1e6);
    metric_number(metric, "normalized_lag", stats.mean / metrics_iteration_ns(m, &source));
    metric_number(metric, "clock_residual_us", m->in.run->clock_residual_ns / 1e3);
    if (lags.count > 0)
        name_latest(m, metric);
    sample_release(&lags);
}

/* ---- bytes ---- */

/* "AllReduce_fp16_ranks_8_bytes", "Broadcast_tp_4_bytes": rows of one kind have keys of their own.
 */
static const char *volume_key(struct metrics *m, const struct traffic_row *row)
{
    bool typed = row->dtype < SPECTER_DTYPE_COUNT && row->dtype != SPECTER_DTYPE_UNKNOWN;
    return metric_key(
        m, "%s%s%s_%s_%d_bytes",
        row->op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name((enum specter_comm_op)row->op)
                                        : "unknown",
        typed ? "_" : "", typed ? specter_dtype_name((enum specter_dtype)row->dtype) : "",
        row->group[0] != '\0' ? row->group : "ranks", row->comm_size);
}

void metric_comm_volume(struct metrics *m, struct metric *metric)
{
    const struct traffic *t = &m->in.analysis->traffic;
    double wire = 0, inter = 0, bytes = 0, unsized = 0;
    for (size_t i = 0; i < t->nrows; i++) {
        wire += t->rows[i].sum.wire_bytes;
        inter += t->rows[i].sum.inter_bytes;
        bytes += t->rows[i].sum.bytes;
        unsized += (double)t->rows[i].sum.unsized;
    }
    metric->value = t->nrows > 0 ? wire : NAN;
    if (t->nrows == 0)
        metric->reason = "no communication";
    else if (isnan(wire))
        metric->reason = "for some operations the communicator's size is not known";
    metric_number(metric, "inter_node_bytes", inter);
    metric_number(metric, "buffer_bytes", bytes);
    metric_number(metric, "operations_without_size", unsized);
    for (size_t i = 0; i < t->nrows; i++) {
        const struct traffic_row *row = &t->rows[i];
        metric_number(metric, volume_key(m, row),
                      row->sum.unsized == row->sum.instances ? NAN : row->sum.wire_bytes);
    }
}

/* Bytes by parallel axis: of each communicator by where it lies in the grid. */
enum { AXIS_UNKNOWN = GRID_ROLES, AXES };

static const char *axis_key(int axis)
{
    static const char *const keys[AXES + 1] = {
        [GRID_TP] = "tp", [GRID_CP] = "cp", [GRID_EP] = "ep",          [GRID_FSDP] = "fsdp",
        [GRID_DP] = "dp", [GRID_PP] = "pp", [AXIS_UNKNOWN] = "unknown"};
    return keys[axis];
}

/* The axis along which a message goes: the one in which its two ranks have different places. Of
 * several the pipeline's, else the outermost. */
static int axis_between(const struct metrics *m, const struct comm_instance *in)
{
    const struct grid *g = &m->recorded.grid;
    const struct rank *rank = &m->in.run->ranks[in->first.rank];
    const struct comm *comm = &m->in.run->comms[in->comm];
    int32_t peer = rank->ops[in->first.op].coll.peer;
    int to = peer >= 0 && peer < comm->size ? comm->ranks[peer] : -1, found = AXIS_UNKNOWN;
    if (to < 0 || to >= g->world || rank->rank < 0 || rank->rank >= g->world)
        return AXIS_UNKNOWN;
    for (int a = 0; a < g->naxes && found != GRID_PP; a++) {
        if (grid_coordinate(&g->axes[a], to) != grid_coordinate(&g->axes[a], rank->rank))
            found = g->axes[a].role;
    }
    return found;
}

/* The outermost axis that a communicator spans, which is what its traffic pays for. */
static int axis_of(const struct metrics *m, const struct comm_instance *in)
{
    const struct grid *g = &m->recorded.grid;
    int found = AXIS_UNKNOWN;
    if (in->p2p && g->state == GRID_FOUND && in->comm >= 0)
        found = axis_between(m, in);
    else if (g->state == GRID_FOUND && in->comm >= 0 && (size_t)in->comm < g->ncomms &&
             g->comms[in->comm].known) {
        for (int a = 0; a < g->naxes; a++) {
            if (g->comms[in->comm].axes >> a & 1u && g->axes[a].size > 1)
                found = g->axes[a].role;
        }
    }
    return found;
}

void metric_traffic_distribution(struct metrics *m, struct metric *metric)
{
    const struct analysis *a = m->in.analysis;
    double bytes[AXES] = {0}, calls[AXES] = {0}, all = 0, unsized = 0;
    int most = AXIS_UNKNOWN;
    for (size_t i = 0; i < a->comm.count; i++) {
        const struct comm_instance *in = &a->comm.list[i];
        int axis = axis_of(m, in);
        struct traffic_sum sum = traffic_of(&a->comm, in, &a->node_map);
        calls[axis] += in->members;
        if (!isfinite(sum.wire_bytes) || sum.unsized > 0) {
            unsized += 1;
            continue;
        }
        bytes[axis] += sum.wire_bytes;
        all += sum.wire_bytes;
    }
    for (int axis = 0; axis < AXES; axis++)
        most = bytes[axis] > bytes[most] ? axis : most;
    metric->value = all > 0 ? bytes[most] / all : NAN;
    if (all <= 0)
        metric->reason = "no communication whose bytes are known";
    metric_text(metric, "axis", axis_key(most));
    metric_text(metric, "grid",
                m->recorded.grid.state == GRID_FOUND ? "found" : m->recorded.grid.problem);
    metric_number(metric, "total_bytes", all);
    metric_number(metric, "operations_without_size", unsized);
    for (int axis = 0; axis < AXES; axis++) {
        if (calls[axis] <= 0 && axis != GRID_DP && axis != GRID_TP && axis != GRID_PP)
            continue;
        metric_number(metric, metric_key(m, "%s_bytes", axis_key(axis)), bytes[axis]);
        metric_number(metric, metric_key(m, "%s_fraction", axis_key(axis)),
                      all > 0 ? bytes[axis] / all : NAN);
        metric_number(metric, metric_key(m, "%s_calls", axis_key(axis)), calls[axis]);
    }
}

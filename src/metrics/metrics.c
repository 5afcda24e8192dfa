/* SPDX-License-Identifier: MIT */
#include "metrics/metrics.h"

#include "base/buf.h"
#include "base/opt.h"
#include "model/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OLD_SUFFIX "_16"

static void metric_number(struct metric *metric, const char *key, double value)
{
    ARRAY_GROW(metric->fields, metric->cap_fields, metric->nfields + 1);
    metric->fields[metric->nfields++] = (struct metric_field){key, NULL, value};
}

static void metric_text(struct metric *metric, const char *key, const char *text)
{
    ARRAY_GROW(metric->fields, metric->cap_fields, metric->nfields + 1);
    metric->fields[metric->nfields++] = (struct metric_field){key, text, NAN};
}

/* ---- steps, and what was computed in them ---- */

/* The time of a step in ns, and how it is known; NAN. */
static double iteration_ns(const struct metrics *m, const char **source)
{
    const struct analysis *a = m->in.analysis;
    *source = step_source_name(a->job_steps.source);
    return a->job_steps.source == STEPS_WHOLE ? NAN : a->step_time.ns;
}

static const char no_steps[] =
    "the trace marks no steps (ProfilerStep, a marker), and its operations do not repeat";

static void metric_iter_time(struct metrics *m, struct metric *metric)
{
    const struct analysis *a = m->in.analysis;
    const struct step_summary *s = &a->steps.job;
    const char *source;
    metric->value = iteration_ns(m, &source) / 1e6;
    if (isnan(metric->value))
        metric->reason = a->job_steps.doubt != NULL ? a->job_steps.doubt : no_steps;
    metric_text(metric, "source", source);
    metric_number(metric, "count", s->steps > 0 ? (double)s->steps : 1);
    if (s->steps == 0) {
        metric_number(metric, "recording_ms", a->step_time.ns / 1e6);
        return;
    }
    if (a->job_steps.count < STEPS_FEW)
        metric_text(metric, "doubt",
                    "fewer than three steps: how much they differ, and whether they warm up, is "
                    "not known");
    metric_number(metric, "median_ms", s->of.median / 1e6);
    metric_number(metric, "p95_ms", s->of.p95 / 1e6);
    metric_number(metric, "min_ms", s->of.min / 1e6);
    metric_number(metric, "max_ms", s->of.max / 1e6);
    metric_number(metric, "std_ms", s->of.std / 1e6);
    metric_number(metric, "warm_up_ms", s->warm_up ? s->first_ns / 1e6 : NAN);
}

static void metric_variability(struct metrics *m, struct metric *metric)
{
    const struct step_summary *s = &m->in.analysis->steps.job;
    if (s->steps < 2) {
        metric->reason = "it takes two steps with a known length at least";
        return;
    }
    metric->value = s->of.std / s->of.mean;
    metric_text(metric, "source", step_source_name(m->in.analysis->job_steps.source));
    metric_number(metric, "count", (double)s->steps);
    metric_number(metric, "std_ms", s->of.std / 1e6);
    metric_number(metric, "mean_ms", s->of.mean / 1e6);
    metric_number(metric, "p95_over_median", s->of.p95 / s->of.median);
    metric_number(metric, "max_over_min", s->of.max / s->of.min);
}

static double gpus_of(const struct metrics *m)
{
    return isfinite(m->in.card->gpus) ? m->in.card->gpus : m->in.run->world_size;
}

static void metric_throughput_tokens(struct metrics *m, struct metric *metric)
{
    const struct card *card = m->in.card;
    const char *source;
    double step_ns = iteration_ns(m, &source), tokens = card_tokens(card);
    metric->value = tokens / (step_ns / 1e9);
    if (isnan(tokens))
        metric->reason = "the card does not tell the tokens of a step: seq_len with "
                         "global_batch_size, or with batch_size and the data-parallel size";
    else if (isnan(step_ns))
        metric->reason = no_steps;
    metric_number(metric, "tokens_per_step", tokens);
    metric_number(metric, "sequences_per_step", card_batch(card));
    metric_number(metric, "iter_time_ms", step_ns / 1e6);
    metric_number(metric, "gpus", gpus_of(m));
    metric_number(metric, "tokens_per_s_gpu", metric->value / gpus_of(m));
}

/* Dense peak of the recorded GPU for the precision of the card, else for bf16. */
static double peak_of(const struct metrics *m, const char **precision)
{
    const struct gpu_profile *gpu = m->in.analysis->machine.gpu;
    const struct card *card = m->in.card;
    const char *name = card->precision[0] != '\0' ? card->precision : "bf16";
    enum specter_dtype dtype = specter_dtype_parse(name, strlen(name));
    double peak;
    *precision = card->precision[0] != '\0' ? name : "bf16 (the card says none)";
    if (gpu == NULL || dtype >= SPECTER_DTYPE_COUNT || dtype == SPECTER_DTYPE_UNKNOWN)
        return NAN;
    peak = gpu_peak_tflops(gpu, dtype, SPECTER_FP32);
    return peak > 0 ? peak : NAN; /* 0: it cannot */
}

static void metric_mfu(struct metrics *m, struct metric *metric)
{
    const char *source, *precision;
    double step_ns = iteration_ns(m, &source), flops = card_flops(m->in.card);
    double peak = peak_of(m, &precision);
    metric->value = flops / (gpus_of(m) * peak * 1e12 * step_ns / 1e9);
    if (isnan(flops))
        metric->reason = "the card does not tell the model FLOPs of a step: num_params with the "
                         "tokens of a step, or flops_per_step";
    else if (isnan(step_ns))
        metric->reason = no_steps;
    else if (isnan(peak))
        metric->reason = "the dense peak of the GPU is not known: no profile, or no such precision";
    if (metric->value > 1)
        metric_text(metric, "doubt",
                    "more than the GPUs can do: the card is of another job, or size");
    metric_number(metric, "flops_per_step", flops);
    metric_number(metric, "peak_tflops", peak);
    metric_text(metric, "precision", precision);
    metric_number(metric, "gpus", gpus_of(m));
    metric_number(metric, "iter_time_ms", step_ns / 1e6);
}

/* Sums over the recorded GEMMs, convolutions and attention. */
struct flops_sum {
    double flops, gemm_peak_s; /* of those whose shape, device time and peak are known */
    double known_ns;           /* what these took */
    double timed_ns;           /* and all that have a device time */
    uint64_t count, known;
    uint64_t others; /* calls that are no plain GEMMs: convolutions, attention, grouped ones */
    double other_flops;
    double at_peak_s; /* of all */
};

static struct flops_sum flops_of(const struct work *work)
{
    struct flops_sum p = {0};
    for (size_t i = 0; i < work->ngemms; i++) {
        const struct gemm_row *g = &work->gemms[i];
        double flops = gemm_row_flops(g) * (double)g->timed;
        p.count += g->count;
        p.timed_ns += g->total_ns;
        if (!(flops > 0) || !isfinite(g->peak_tflops))
            continue;
        p.known += g->timed;
        p.flops += flops;
        p.known_ns += g->total_ns;
        p.gemm_peak_s += flops / (g->peak_tflops * 1e12);
    }
    p.at_peak_s = p.gemm_peak_s;
    for (size_t i = 0; i < work->nsized_ops; i++) {
        const struct flops_row *row = &work->sized_ops[i];
        double flops = row->flops * (double)row->timed;
        if (!(flops > 0) || !isfinite(row->peak_tflops))
            continue;
        p.others += row->timed;
        p.other_flops += flops;
        p.at_peak_s += flops / (row->peak_tflops * 1e12);
    }
    return p;
}

/* The time that the FLOPs of GEMMs, convolutions and attention take at the peaks of their GPUs,
 * over the recorded time of the devices. */
static void metric_hardware_saturation(struct metrics *m, struct metric *metric)
{
    const struct analysis *a = m->in.analysis;
    struct flops_sum p = flops_of(&a->work);
    double span_ns = (double)a->total.recorded_ns;
    metric->value = p.known + p.others > 0 ? p.at_peak_s / (span_ns / 1e9) : NAN;
    if (p.known + p.others == 0)
        metric->reason = "no GEMM with shape, device time and a GPU of known peak";
    else if (p.known < p.count || a->gemm_sample > 1)
        metric_text(metric, "doubt",
                    "a lower bound: of some products the shape, time or peak is not known, or only "
                    "a sample is recorded");
    metric_number(metric, "gemms", (double)p.count);
    metric_number(metric, "gemms_counted", (double)p.known);
    metric_number(metric, "gemm_sample", (double)a->gemm_sample);
    metric_number(metric, "gemm_tflop", p.known > 0 ? p.flops / 1e12 : NAN);
    metric_number(metric, "gemm_of_peak", p.gemm_peak_s / (p.known_ns / 1e9));
    metric_number(metric, "gemm_time_share", p.timed_ns > 0 ? p.timed_ns / span_ns : NAN);
    metric_number(metric, "other_operators", (double)p.others);
    metric_number(metric, "other_tflop", p.others > 0 ? p.other_flops / 1e12 : NAN);
    metric_number(metric, "device_compute_share", share_of(a->total.compute_ns, a->total.span_ns));
    metric_number(metric, "device_busy_share", 1 - share_of(a->total.idle_ns, a->total.span_ns));
}

static void metric_pipeline_bubble(struct metrics *m, struct metric *metric)
{
    const struct bubbles *b = &m->in.analysis->bubbles;
    if (b->why != NULL) {
        metric->reason = b->why[0] != '\0' ? b->why : "no pipeline: no messages between stages";
        return;
    }
    metric->value = share_of(b->total.bubble_ns, b->total.window_ns);
    metric_number(metric, "ideal", b->ideal);
    metric_number(metric, "stages", b->stages.count);
    metric_number(metric, "micro_batches", b->stages.micro);
    metric_number(metric, "slowest_stage", b->slowest);
    metric_number(metric, "imbalance", b->imbalance);
    metric_number(metric, "schedule_share", b->schedule_ns / (double)b->total.window_ns);
    metric_number(metric, "uneven_share", b->uneven_ns / (double)b->total.window_ns);
    metric_number(metric, "rest_share", b->rest_ns / (double)b->total.window_ns);
    for (size_t i = 0; i < (size_t)b->stages.count; i++)
        metric_number(metric, arena_printf(&m->arena, "stage_%zu", i),
                      share_of(b->list[i].times.bubble_ns, b->list[i].times.window_ns));
}

/* ---- communication: calls ---- */

static void metric_coll_call_num(struct metrics *m, struct metric *metric)
{
    const struct comm_study *s = &m->in.analysis->comm;
    double calls[SPECTER_COMM_OP_COUNT + 1] = {0}, all = 0, instances = 0;
    double ranks = (double)run_recorded_ranks(m->in.run);
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
                          arena_printf(&m->arena, "%s_per_rank",
                                       op == SPECTER_SEND ? "Send_Recv"
                                       : op < SPECTER_COMM_OP_COUNT
                                           ? specter_comm_op_name((enum specter_comm_op)op)
                                           : "unknown"),
                          calls[op] / ranks);
    }
}

/* ---- overlap ---- */

static void metric_comm_comp_overlap(struct metrics *m, struct metric *metric)
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

static void metric_straggler_lag(struct metrics *m, struct metric *metric)
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
    metric_number(metric, "normalized_lag", stats.mean / iteration_ns(m, &source));
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
    return arena_printf(
        &m->arena, "%s%s%s_%s_%d_bytes",
        row->op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name((enum specter_comm_op)row->op)
                                        : "unknown",
        typed ? "_" : "", typed ? specter_dtype_name((enum specter_dtype)row->dtype) : "",
        row->group[0] != '\0' ? row->group : "ranks", row->comm_size);
}

static void metric_comm_volume(struct metrics *m, struct metric *metric)
{
    const struct traffic *t = &m->in.analysis->traffic;
    double wire = 0, inter = 0, bytes = 0, unsized = 0, all = 0;
    for (size_t i = 0; i < t->nrows; i++) {
        all += (double)t->rows[i].sum.instances;
        wire += t->rows[i].sum.wire_bytes;
        inter += t->rows[i].sum.inter_bytes;
        bytes += t->rows[i].sum.bytes;
        unsized += (double)t->rows[i].sum.unsized;
    }
    metric->value = unsized < all ? wire : NAN;
    if (t->nrows == 0)
        metric->reason = "no communication";
    else if (unsized >= all)
        metric->reason = "no communication has a known size";
    else if (isnan(wire))
        metric->reason = "for some operations the communicator's size is not known";
    metric_number(metric, "inter_node_bytes", unsized < all ? inter : NAN);
    metric_number(metric, "buffer_bytes", unsized < all ? bytes : NAN);
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
    return axis == AXIS_UNKNOWN ? "unknown" : grid_role_name((enum grid_role)axis);
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

static void metric_traffic_distribution(struct metrics *m, struct metric *metric)
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
        metric->reason = "no communication has a known size";
    metric_text(metric, "axis", axis_key(most));
    metric_text(metric, "grid",
                m->recorded.grid.state == GRID_FOUND ? "found" : m->recorded.grid.problem);
    metric_number(metric, "total_bytes", all);
    metric_number(metric, "operations_without_size", unsized);
    for (int axis = 0; axis < AXES; axis++) {
        if (calls[axis] <= 0 && axis != GRID_DP && axis != GRID_TP && axis != GRID_PP)
            continue;
        metric_number(metric, arena_printf(&m->arena, "%s_bytes", axis_key(axis)), bytes[axis]);
        metric_number(metric, arena_printf(&m->arena, "%s_fraction", axis_key(axis)),
                      all > 0 ? bytes[axis] / all : NAN);
        metric_number(metric, arena_printf(&m->arena, "%s_calls", axis_key(axis)), calls[axis]);
    }
}

/* ---- the list ---- */

static const struct {
    const char *name, *unit;
    void (*compute)(struct metrics *, struct metric *);
} known[] = {
#define X(name, unit, definition) {#name, unit, metric_##name},
    METRICS(X)
#undef X
};

#define KNOWN (sizeof known / sizeof *known)

/* "tp=2,pp=4,dp=8" of a card that tells its parallelism; NULL. */
static const char *parallel_of(const struct card *card, struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *copy = NULL;
    const struct {
        enum grid_role role;
        double size;
    } axes[] = {
        {GRID_TP, card->tp}, {GRID_CP, card->cp}, {GRID_PP, card->pp}, {GRID_DP, card_dp(card)}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (axes[i].size > 1)
            buf_printf(&text, "%s%s=%.0f", text.len > 0 ? "," : "", grid_role_name(axes[i].role),
                       axes[i].size);
    }
    if (text.len > 0)
        copy = arena_strndup(arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

/* The grid that is told must fit; one that only the card tells, with another number of ranks than
 * the trace has, say, gives way to what the trace shows. */
int metrics_init(struct metrics *m, const struct metrics_input *in, struct err *e)
{
    const char *told;
    struct err ignored;
    memset(m, 0, sizeof *m);
    m->in = *in;
    arena_init(&m->arena);
    if (in->parallel != NULL)
        return recorded_grid_init(&m->recorded, in->run, &in->analysis->job_steps, in->parallel, e);
    told = parallel_of(in->card, &m->arena);
    if (told != NULL &&
        recorded_grid_init(&m->recorded, in->run, &in->analysis->job_steps, told, &ignored) == 0)
        return 0;
    if (told != NULL)
        recorded_grid_release(&m->recorded);
    return recorded_grid_init(&m->recorded, in->run, &in->analysis->job_steps, NULL, e);
}

void metrics_release(struct metrics *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->list[i].fields);
    free(m->list);
    recorded_grid_release(&m->recorded);
    arena_release(&m->arena);
}

/* Its place in `known`, or KNOWN. */
static size_t find(const char *name, size_t len)
{
    size_t old = strlen(OLD_SUFFIX);
    if (len > old && memcmp(name + len - old, OLD_SUFFIX, old) == 0)
        len -= old;
    for (size_t i = 0; i < KNOWN; i++) {
        if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0)
            return i;
    }
    return KNOWN;
}

int metrics_check(const char *name, size_t len, struct err *e)
{
    const char *best = known[0].name;
    char text[64];
    if (find(name, len) < KNOWN)
        return 0;
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text), name);
    for (size_t i = 1; i < KNOWN; i++) {
        if (opt_distance(text, known[i].name) < opt_distance(text, best))
            best = known[i].name;
    }
    return err_set(e, ERR_USAGE,
                   "there is no metric '%s'; did you mean '%s'? (--list-metrics lists them)", text,
                   best);
}

int metrics_add(struct metrics *m, const char *name, size_t len, struct err *e)
{
    size_t i = find(name, len);
    struct metric *metric;
    if (metrics_check(name, len, e) < 0)
        return -1;
    ARRAY_GROW(m->list, m->cap, m->count + 1);
    metric = &m->list[m->count++];
    *metric = (struct metric){.name = known[i].name, .unit = known[i].unit, .value = NAN};
    known[i].compute(m, metric);
    if (isnan(metric->value) && metric->reason == NULL)
        metric->reason = "the trace does not hold what it is made of";
    return 0;
}

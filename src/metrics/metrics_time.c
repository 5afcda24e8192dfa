/* SPDX-License-Identifier: MIT
 *
 * Metrics of steps: their time, spread, and what was computed in it.
 */
#include "metrics/metrics.h"

#include "model/profile.h"

#include <math.h>
#include <string.h>

double metrics_iteration_ns(const struct metrics *m, const char **source)
{
    const struct analysis *a = m->in.analysis;
    *source = step_source_name(a->job_steps.source);
    return a->job_steps.source == STEPS_WHOLE ? NAN : a->step_time.ns;
}

static const char no_steps[] =
    "the trace marks no steps (ProfilerStep, a marker), and its operations do not repeat";

void metric_iter_time(struct metrics *m, struct metric *metric)
{
    const struct analysis *a = m->in.analysis;
    const struct step_summary *s = &a->steps.job;
    const char *source;
    metric->value = metrics_iteration_ns(m, &source) / 1e6;
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

void metric_variability(struct metrics *m, struct metric *metric)
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

void metric_throughput_tokens(struct metrics *m, struct metric *metric)
{
    const struct card *card = m->in.card;
    const char *source;
    double iteration_ns = metrics_iteration_ns(m, &source), tokens = card_tokens(card);
    metric->value = tokens / (iteration_ns / 1e9);
    if (isnan(tokens))
        metric->reason = "the card does not tell the tokens of a step: seq_len with "
                         "global_batch_size, or with batch_size and the data-parallel size";
    else if (isnan(iteration_ns))
        metric->reason = no_steps;
    metric_number(metric, "tokens_per_step", tokens);
    metric_number(metric, "sequences_per_step", card_batch(card));
    metric_number(metric, "iter_time_ms", iteration_ns / 1e6);
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

void metric_mfu(struct metrics *m, struct metric *metric)
{
    const char *source, *precision;
    double iteration_ns = metrics_iteration_ns(m, &source), flops = card_flops(m->in.card);
    double peak = peak_of(m, &precision);
    metric->value = flops / (gpus_of(m) * peak * 1e12 * iteration_ns / 1e9);
    if (isnan(flops))
        metric->reason = "the card does not tell the model FLOPs of a step: num_params with the "
                         "tokens of a step, or flops_per_step";
    else if (isnan(iteration_ns))
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
    metric_number(metric, "iter_time_ms", iteration_ns / 1e6);
}

/* What the recorded products, convolutions and attention come to. */
struct products {
    double flops, gemm_peak_s; /* of those whose shape, device time and peak are known */
    double known_ns;           /* what these took */
    double timed_ns;           /* and all that have a device time */
    uint64_t count, known;
    uint64_t others; /* calls that are no plain products: convolutions, attention, grouped ones */
    double other_flops;
    double at_peak_s; /* of all */
};

static struct products products_of(const struct work *work)
{
    struct products p = {0};
    for (size_t i = 0; i < work->ngemms; i++) {
        const struct gemm_row *g = &work->gemms[i];
        double flops = 2.0 * g->m * g->n * g->k * g->batch * (double)g->timed;
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
    for (size_t i = 0; i < work->noperators; i++) {
        const struct flops_row *row = &work->operators[i];
        double flops = row->flops * (double)row->timed;
        if (!(flops > 0) || !isfinite(row->peak_tflops))
            continue;
        p.others += row->timed;
        p.other_flops += flops;
        p.at_peak_s += flops / (row->peak_tflops * 1e12);
    }
    return p;
}

/* What products did, and what their devices could have done in their spans. */
void metric_hardware_saturation(struct metrics *m, struct metric *metric)
{
    const struct analysis *a = m->in.analysis;
    struct products p = products_of(&a->work);
    double span_ns = (double)a->total.recorded_ns;
    metric->value = p.known + p.others > 0 ? p.at_peak_s / (span_ns / 1e9) : NAN;
    if (p.known + p.others == 0)
        metric->reason = "no GEMM with shape, device time and a GPU of known peak";
    else if (p.known < p.count || a->gemm_rate > 1)
        metric_text(metric, "doubt",
                    "a lower bound: of some products the shape, time or peak is not known, or only "
                    "a sample is recorded");
    metric_number(metric, "gemms", (double)p.count);
    metric_number(metric, "gemms_counted", (double)p.known);
    metric_number(metric, "gemm_sample", (double)a->gemm_rate);
    metric_number(metric, "gemm_tflop", p.known > 0 ? p.flops / 1e12 : NAN);
    metric_number(metric, "gemm_of_peak", p.gemm_peak_s / (p.known_ns / 1e9));
    metric_number(metric, "gemm_time_share", p.timed_ns > 0 ? p.timed_ns / span_ns : NAN);
    metric_number(metric, "other_operators", (double)p.others);
    metric_number(metric, "other_tflop", p.others > 0 ? p.other_flops / 1e12 : NAN);
    metric_number(metric, "device_compute_share", share_of(a->total.compute_ns, a->total.span_ns));
    metric_number(metric, "device_busy_share", 1 - share_of(a->total.idle_ns, a->total.span_ns));
}

void metric_pipeline_bubble(struct metrics *m, struct metric *metric)
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
        metric_number(metric, metric_key(m, "stage_%zu", i),
                      share_of(b->list[i].times.bubble_ns, b->list[i].times.window_ns));
}

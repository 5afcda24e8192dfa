/* SPDX-License-Identifier: MIT */
#include "sim/replay/shorter.h"

#include "sim/replay/job.h"
#include "sim/replay/notes.h"

#include <string.h>

/* The transfer that gained most; ncosts: none takes less. */
static size_t most_gained(const struct replay_job *job)
{
    const struct program *p = &job->program;
    size_t top = p->ncosts;
    int64_t most_ns = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        int64_t gain_ns = job->before.set_ns[i] - p->costs[i].set_ns;
        if (p->costs[i].match == PROGRAM_NONE || gain_ns <= most_ns)
            continue;
        most_ns = gain_ns;
        top = i;
    }
    return top;
}

/* "26 MiB" */
static const char *size_text(struct arena *a, double bytes)
{
    if (bytes >= 0x1p20)
        return arena_printf(a, "%.3g MiB", bytes / 0x1p20);
    return bytes >= 0x1p10 ? arena_printf(a, "%.3g KiB", bytes / 0x1p10)
                           : arena_printf(a, "%.0f B", bytes);
}

static const char *way_text(struct arena *a, const struct comm_cost *price)
{
    return arena_printf(a, "%s with %s on %d channel%s", price->algo, price->proto, price->channels,
                        price->channels == 1 ? "" : "s");
}

/* The model's choice for the transfer at the scale before. */
static bool price_before(const struct replay_job *job, const struct retarget *now,
                         const struct program_cost *cost, struct comm_cost *price)
{
    struct retarget t;
    struct err ignored;
    bool known = retarget_init(&t, now->program, now->growth, now->from, now->to, now->calibrate,
                               job->before.scale, &ignored) == 0 &&
                 retarget_price(&t, cost, price);
    retarget_release(&t);
    return known;
}

static const char *why_transfer(const struct replay_job *job, const struct retarget *t, size_t at)
{
    struct arena *a = &job->rep->arena;
    const struct program_cost *cost = &job->program.costs[at];
    const struct match *match = &job->program.matches.list[cost->match];
    const char *what =
        arena_printf(a, "%s of %s takes %.3g us and not %.3g us",
                     specter_comm_op_name((enum specter_comm_op)match->op),
                     size_text(a, retarget_bytes(t, cost)), (double)cost->set_ns / 1e3,
                     (double)job->before.set_ns[at] / 1e3);
    struct comm_cost here, there;
    if (!retarget_price(t, cost, &here) || !price_before(job, t, cost, &there) ||
        strcmp(way_text(a, &here), way_text(a, &there)) == 0)
        return what;
    return arena_printf(a, "%s, because NCCL's tuner chooses %s in place of %s", what,
                        way_text(a, &here), way_text(a, &there));
}

/* The part of the step that lost most. */
static const char *why_part(const struct iteration_time *before, const struct iteration_time *now)
{
    const struct {
        const char *name;
        double ns;
    } parts[] = {
        {"computation", before->compute_ns - now->compute_ns},
        {"untimed kernels", before->untraced_ns - now->untraced_ns},
        {"exposed communication", before->exposed_comm_ns - now->exposed_comm_ns},
        {"exposed copies", before->exposed_memory_ns - now->exposed_memory_ns},
        {"idling", before->idle_ns - now->idle_ns},
    };
    size_t top = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        top = parts[i].ns > parts[top].ns ? i : top;
    return parts[top].name;
}

static void say(struct replay_job *job, const struct retarget *t, const struct replay_scale *now)
{
    struct replay *rep = job->rep;
    size_t at = most_gained(job);
    double off = 1 - now->time.span_ns / job->before.time.span_ns;
    if (at < job->program.ncosts)
        replay_note(rep, false, "the step at %lld GPUs is %.1f %% shorter than at %lld: %s",
                    (long long)now->gpus, 100 * off, (long long)(job->before.scale * rep->world),
                    why_transfer(job, t, at));
    else
        replay_note(rep, false,
                    "the step at %lld GPUs is %.1f %% shorter than at %lld, most of it %s",
                    (long long)now->gpus, 100 * off, (long long)(job->before.scale * rep->world),
                    why_part(&job->before.time, &now->time));
}

void shorter_derive(struct replay_job *job, const struct retarget *t,
                    const struct replay_scale *now)
{
    const struct program *p = &job->program;
    struct job_before *before = &job->before;
    if (job->rep->strong)
        return;
    if (before->set_ns == NULL)
        before->set_ns = arena_alloc(&job->rep->arena, p->ncosts * sizeof *before->set_ns);
    else if (now->scale > before->scale &&
             now->time.span_ns < before->time.span_ns * (1 - SHORTER) && t->shard_ns <= 0)
        say(job, t, now);
    for (size_t i = 0; i < p->ncosts; i++)
        before->set_ns[i] = p->costs[i].set_ns;
    before->scale = now->scale;
    before->time = now->time;
}

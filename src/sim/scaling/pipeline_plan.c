/* SPDX-License-Identifier: MIT */
#include "sim/scaling/pipeline_plan.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[PIPE_SCHEDULES] = {
    [PIPE_1F1B] = "1F1B",
    [PIPE_1F1B_APART] = "1F1B",
    [PIPE_GPIPE] = "GPipe",
};

const char *pipe_schedule_name(enum pipe_schedule schedule)
{
    return names[schedule];
}

struct planner {
    struct pipe_plan *plan;
    unsigned allowed; /* ways that the stage has */
    bool apart;
};

static struct pipe_token *add_token(struct pipe_plan *plan)
{
    ARRAY_GROW(plan->list, plan->cap, plan->count + 1);
    plan->list[plan->count] = (struct pipe_token){0};
    return &plan->list[plan->count++];
}

static void work(struct planner *p, enum pipe_part_kind kind, int nth)
{
    struct pipe_token *last = p->plan->count > 0 ? &p->plan->list[p->plan->count - 1] : NULL;
    if (last == NULL || last->exchange != 0)
        last = add_token(p->plan);
    last->parts[last->nparts++] = (struct pipe_part){kind, nth};
}

static void exchange(struct planner *p, unsigned first, unsigned second)
{
    unsigned a = first & p->allowed, b = second & p->allowed;
    if (p->apart && a != 0 && b != 0) {
        add_token(p->plan)->exchange = a;
        add_token(p->plan)->exchange = b;
    } else if ((a | b) != 0) {
        add_token(p->plan)->exchange = a | b;
    }
}

static void by_turns(struct planner *p, int ahead, int micro)
{
    for (int i = 0; i < ahead; i++) {
        exchange(p, PIPE_ACT_IN, 0);
        work(p, PART_FORWARD, i);
        exchange(p, PIPE_ACT_OUT, 0);
    }
    if (ahead < micro)
        exchange(p, PIPE_ACT_IN, 0);
    for (int i = ahead; i < micro; i++) {
        work(p, PART_FORWARD, i);
        exchange(p, PIPE_ACT_OUT, PIPE_GRAD_IN);
        work(p, PART_BACKWARD, i - ahead);
        exchange(p, PIPE_GRAD_OUT, i + 1 < micro ? PIPE_ACT_IN : 0);
    }
    for (int i = micro - ahead; i < micro; i++) {
        exchange(p, PIPE_GRAD_IN, 0);
        work(p, PART_BACKWARD, i);
        exchange(p, PIPE_GRAD_OUT, 0);
    }
}

static void all_forward_first(struct planner *p, int micro)
{
    for (int i = 0; i < micro; i++) {
        exchange(p, PIPE_ACT_IN, 0);
        work(p, PART_FORWARD, i);
        exchange(p, PIPE_ACT_OUT, 0);
    }
    for (int i = 0; i < micro; i++) {
        exchange(p, PIPE_GRAD_IN, 0);
        work(p, PART_BACKWARD, i);
        exchange(p, PIPE_GRAD_OUT, 0);
    }
}

void pipe_plan_init(struct pipe_plan *plan, enum pipe_schedule schedule, int stage, int stages,
                    int micro)
{
    struct planner p = {.plan = plan, .apart = schedule == PIPE_1F1B_APART};
    int behind = stages - 1 - stage;
    memset(plan, 0, sizeof *plan);
    p.allowed = (stage > 0 ? PIPE_ACT_IN | PIPE_GRAD_OUT : 0) |
                (behind > 0 ? PIPE_ACT_OUT | PIPE_GRAD_IN : 0);
    work(&p, PART_PROLOGUE, 0);
    if (schedule == PIPE_GPIPE)
        all_forward_first(&p, micro);
    else
        by_turns(&p, behind < micro ? behind : micro, micro);
    work(&p, PART_EPILOGUE, 0);
}

void pipe_plan_release(struct pipe_plan *plan)
{
    free(plan->list);
    memset(plan, 0, sizeof *plan);
}

/* SPDX-License-Identifier: MIT */
#include "compare/ranking.h"

#include "base/order.h"
#include "compare/prediction.h"
#include "compare/side.h"

#include <stdlib.h>

static int by_step(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    return a->step_ns != b->step_ns ? ORDER(a->step_ns, b->step_ns) : ORDER(a->side, b->side);
}

/* A side's step twice: with steps as samples, and with runs. */
struct step_samples {
    struct side steps, runs;
    bool several;
    const struct predicted_step *predicted; /* NULL */
};

static const struct entry *step_of(const struct side *s)
{
    return side_find(s, &(struct compare_key){.table = COMPARE_STEP, .part = COMPARE_WHOLE});
}

/* Returns whether b takes longer than a by more than noise and threshold. */
static bool is_slower(const struct step_samples *a, const struct step_samples *b, double level,
                      double threshold)
{
    const bool several = a->several && b->several;
    const struct entry *base = step_of(several ? &a->runs : &a->steps);
    const struct entry *test = step_of(several ? &b->runs : &b->steps);
    struct compare_row row = {.of = base->of,
                              .base_ns = base->one_ns / (double)base->runs,
                              .test_ns = test->one_ns / (double)test->runs};
    if (a->predicted != NULL || b->predicted != NULL)
        row.noise = prediction_noise(a->predicted, row.base_ns, b->predicted, row.test_ns);
    else
        sample_test(&row.noise, &base->samples, &test->samples, level);
    return compare_judge(&row, threshold) == COMPARE_IS_WORSE;
}

static void set_places(struct ranking *r, const struct step_samples *list, double threshold)
{
    const double level = 1 - (1 - COMPARE_LEVEL) / (double)(r->n > 1 ? r->n - 1 : 1);
    for (size_t i = 0; i < r->n; i++) {
        size_t first = 0; /* of a place */
        while (first < i &&
               (r->list[first].place != first + 1 ||
                is_slower(&list[r->list[first].side], &list[r->list[i].side], level, threshold)))
            first++;
        r->list[i].place = first + 1;
    }
}

void ranking_init(struct ranking *r, const struct compare_runs *sides, size_t n, double threshold)
{
    struct step_samples *list = array_new(n, sizeof *list);
    r->list = array_new(n, sizeof *r->list);
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct entry *step;
        list[i].several = list[i].runs.several = sides[i].n > 1;
        list[i].predicted = sides[i].predicted;
        for (size_t k = 0; k < sides[i].n; k++) {
            side_add_step(&list[i].steps, sides[i].list[k]);
            side_add_step(&list[i].runs, sides[i].list[k]);
        }
        if (sides[i].predicted != NULL)
            side_add_predicted(&list[i].steps, sides[i].predicted);
        step = step_of(&list[i].steps);
        r->list[i] = (struct ranked){.side = i, .step_ns = step->one_ns / (double)step->runs};
    }
    qsort(r->list, n, sizeof *r->list, by_step);
    set_places(r, list, threshold);
    for (size_t i = 0; i < n; i++) {
        side_release(&list[i].steps);
        side_release(&list[i].runs);
    }
    free(list);
}

void ranking_release(struct ranking *r)
{
    free(r->list);
}

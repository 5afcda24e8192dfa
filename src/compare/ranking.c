/* SPDX-License-Identifier: MIT */
#include "compare/ranking.h"

#include "base/order.h"
#include "compare/side.h"

#include <stdlib.h>

static int by_step(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    return a->step_ns != b->step_ns ? ORDER(a->step_ns, b->step_ns) : ORDER(a->side, b->side);
}

static const struct entry *step_of(const struct side *s)
{
    return side_find(s, &(struct compare_key){.table = COMPARE_STEP, .part = COMPARE_WHOLE});
}

/* Returns whether b takes longer than a by more than noise and threshold. */
static bool is_slower(const struct entry *a, const struct entry *b, double threshold)
{
    struct compare_row row = {.of = a->of,
                              .base_ns = a->one_ns / (double)a->runs,
                              .test_ns = b->one_ns / (double)b->runs};
    sample_test(&row.noise, &a->samples, &b->samples, COMPARE_LEVEL);
    return compare_judge(&row, threshold) == COMPARE_IS_WORSE;
}

/* A place is that of the fastest that the side is no slower than. */
static void set_places(struct ranking *r, const struct side *sides, double threshold)
{
    size_t first = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (is_slower(step_of(&sides[r->list[first].side]), step_of(&sides[r->list[i].side]),
                      threshold))
            first = i;
        r->list[i].place = first + 1;
    }
}

void ranking_init(struct ranking *r, const struct analysis *const *const *sides,
                  const size_t *counts, size_t n, double threshold)
{
    struct side *list = array_new(n, sizeof *list);
    bool several = true;
    r->list = array_new(n, sizeof *r->list);
    r->n = n;
    for (size_t i = 0; i < n; i++)
        several = several && counts[i] > 1;
    for (size_t i = 0; i < n; i++) {
        const struct entry *step;
        list[i].several = several;
        for (size_t k = 0; k < counts[i]; k++)
            side_add_step(&list[i], sides[i][k]);
        step = step_of(&list[i]);
        r->list[i] = (struct ranked){.side = i, .step_ns = step->one_ns / (double)step->runs};
    }
    qsort(r->list, n, sizeof *r->list, by_step);
    set_places(r, list, threshold);
    for (size_t i = 0; i < n; i++)
        side_release(&list[i]);
    free(list);
}

void ranking_release(struct ranking *r)
{
    free(r->list);
}

/* SPDX-License-Identifier: MIT
 *
 * From an anchor, the failure function of Knuth, Morris and Pratt gives the smallest period of
 * every stretch that begins there, in linear time. How far each would reach to the left of the
 * anchor comes from Gusfield's Z function of the sequence read backwards, in linear time too. A few
 * anchors spread over the sequence hit the repeating part after any prologue.
 */
#include "trace/step_time.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdlib.h>

#define ANCHORS 16
#define SLACK 1.05 /* a longer period must cover so much more */

struct period_search {
    const uint64_t *s;
    size_t n, anchor;
    uint32_t *fail; /* [n] length of the longest proper border of s[anchor..anchor + i] */
    uint32_t *z;    /* [2n] Z function of backwards() */
    struct period best;
    uint64_t compared;
};

static size_t covered(struct period s)
{
    return s.period ? s.length / s.period * s.period : 0;
}

static bool better(struct period a, struct period b)
{
    double ca = (double)covered(a), cb = (double)covered(b);
    return ca > cb * SLACK || (ca * SLACK >= cb && a.period < b.period);
}

/* Returns the i-th symbol of those before the anchor, followed by all, both read backwards. */
static uint64_t backwards(const struct period_search *f, size_t i)
{
    return i < f->anchor ? f->s[f->anchor - 1 - i] : f->s[f->n - 1 - (i - f->anchor)];
}

/* Considers the stretch that begins at the anchor; worth it when a quarter period repeats. */
static void consider(struct period_search *f, size_t length, size_t period)
{
    struct period at;
    size_t left;
    if (length - period < (period + 3) / 4)
        return;
    /* A stretch of that period reaches so far to the left of the anchor: the symbols that end there
     * equal those that end a period later. */
    size_t same = f->z[f->anchor + f->n - (f->anchor + period)];
    left = same < f->anchor ? same : f->anchor;
    at = (struct period){.first = f->anchor - left, .length = length + left, .period = period};
    if (at.length >= 2 * period && (f->best.period == 0 || better(at, f->best)))
        f->best = at;
}

/* The smallest period of the first `length` symbols is length - fail, and it never shrinks as
 * length grows. */
static void search_from(struct period_search *f, size_t anchor)
{
    const uint64_t *t = f->s + anchor;
    size_t m = f->n - anchor, border = 0;
    f->anchor = anchor;
    /* z[i]: how many symbols from i on equal those from 0 on. [left, right) is the match found so
     * far that reaches furthest; what it holds is not compared again. */
    size_t all = f->anchor + f->n, left = 0, right = 0;
    f->z[0] = (uint32_t)all;
    for (size_t i = 1; i < all; i++) {
        size_t same = 0;
        if (i < right)
            same = f->z[i - left] < right - i ? f->z[i - left] : right - i;
        while (i + same < all && backwards(f, same) == backwards(f, i + same)) {
            same++;
            f->compared++;
        }
        f->z[i] = (uint32_t)same;
        if (i + same > right) {
            left = i;
            right = i + same;
        }
    }
    f->fail[0] = 0;
    for (size_t i = 1; i < m; i++) {
        size_t before = i - border;
        for (; border > 0 && t[i] != t[border]; f->compared++)
            border = f->fail[border - 1];
        border += t[i] == t[border];
        f->fail[i] = (uint32_t)border;
        if (i + 1 - border != before)
            consider(f, i, before);
    }
    consider(f, m, m - border);
}

struct period period_find(const uint64_t *symbols, size_t n)
{
    struct period_search f = {.s = symbols, .n = n};
    struct period found = {0};
    if (n < 2 || n > UINT32_MAX / 2)
        return found;
    f.fail = array_new(n, sizeof *f.fail);
    f.z = array_new(2 * n, sizeof *f.z);
    for (size_t i = 0; i < ANCHORS; i++) {
        size_t anchor = n * i / ANCHORS;
        if (i == 0 || anchor != n * (i - 1) / ANCHORS)
            search_from(&f, anchor);
    }
    free(f.fail);
    free(f.z);
    if (covered(f.best) * 2 >= n)
        found = f.best;
    found.compared = f.compared;
    return found;
}

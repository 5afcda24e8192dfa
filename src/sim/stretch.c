/* SPDX-License-Identifier: MIT
 *
 * From an anchor, the failure function of Knuth, Morris and Pratt gives the smallest period of
 * every stretch that begins there, in linear time; the best one is then extended to the left. A few
 * anchors spread over the sequence hit the repeating part behind any prologue.
 */
#include "sim/iterate.h"

#include <stdlib.h>

#define ANCHORS 16
#define SLACK 1.05 /* a longer period must cover so much more */

static size_t covered(struct stretch s)
{
    return s.period ? s.length / s.period * s.period : 0;
}

static bool better(struct stretch a, struct stretch b)
{
    double ca = (double)covered(a), cb = (double)covered(b);
    return ca > cb * SLACK || (ca * SLACK >= cb && a.period < b.period);
}

static struct stretch extend_left(const uint64_t *s, struct stretch at)
{
    while (at.first > 0 && s[at.first - 1] == s[at.first - 1 + at.period]) {
        at.first--;
        at.length++;
    }
    return at;
}

/* Considers the stretch that begins at the anchor; worth it when a quarter period repeats. */
static void consider(const uint64_t *s, struct stretch at, struct stretch *best)
{
    if (at.length - at.period < (at.period + 3) / 4)
        return;
    at = extend_left(s, at);
    if (at.length >= 2 * at.period && (best->period == 0 || better(at, *best)))
        *best = at;
}

/* fail[i]: length of the longest proper prefix of s[anchor..] that ends at i. The smallest period
 * of the first `length` symbols is length - fail, and it never shrinks as length grows. */
static void search_from(const uint64_t *s, size_t n, size_t anchor, uint32_t *fail,
                        struct stretch *best)
{
    const uint64_t *t = s + anchor;
    size_t m = n - anchor, border = 0;
    fail[0] = 0;
    for (size_t i = 1; i < m; i++) {
        size_t before = i - border;
        while (border > 0 && t[i] != t[border])
            border = fail[border - 1];
        border += t[i] == t[border];
        fail[i] = (uint32_t)border;
        if (i + 1 - border != before)
            consider(s, (struct stretch){anchor, i, before}, best);
    }
    consider(s, (struct stretch){anchor, m, m - border}, best);
}

struct stretch stretch_find(const uint64_t *symbols, size_t n)
{
    struct stretch best = {0};
    uint32_t *fail;
    if (n < 2 || n > UINT32_MAX)
        return best;
    fail = malloc(n * sizeof *fail);
    if (fail == NULL)
        die("out of memory");
    for (size_t i = 0; i < ANCHORS; i++) {
        size_t anchor = n * i / ANCHORS;
        if (i == 0 || anchor != n * (i - 1) / ANCHORS)
            search_from(symbols, n, anchor, fail, &best);
    }
    free(fail);
    return covered(best) * 2 >= n ? best : (struct stretch){0};
}

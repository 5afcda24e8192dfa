/* SPDX-License-Identifier: MIT
 *
 * --bytes: one size, or a sweep as nccl-tests makes it.
 */
#include "base/arena.h"
#include "cmd/predict.h"

#include <string.h>

#define BYTES_MAX ((uint64_t)1 << 53) /* up to here a double counts single bytes */
#define SIZES_MAX 100000

static int parse_size(const char *text, uint64_t *out, struct err *e)
{
    if (opt_parse_bytes("--bytes", text, out, e) < 0)
        return -1;
    if (*out > BYTES_MAX)
        return err_set(e, ERR_USAGE, "--bytes: %llu is out of range: at most %llu (8192T)",
                       (unsigned long long)*out, (unsigned long long)BYTES_MAX);
    return 0;
}

/* FIRST:LAST. */
static int parse_range(const char *text, const char *colon, struct predict_sizes *out,
                       struct err *e)
{
    struct arena a;
    int rc;
    arena_init(&a);
    rc = parse_size(arena_strndup(&a, text, (size_t)(colon - text)), &out->first, e);
    arena_release(&a);
    if (rc < 0 || parse_size(colon + 1, &out->last, e) < 0)
        return -1;
    if (out->last < out->first)
        return err_set(e, ERR_USAGE, "--bytes: '%s' ends before it begins", text);
    return 0;
}

static int check_count(const struct predict_sizes *s, struct err *e)
{
    int n = 0;
    for (uint64_t size = s->first; size <= s->last; size = predict_sizes_next(s, size)) {
        if (++n > SIZES_MAX)
            return err_set(e, ERR_USAGE, "--bytes: more than %d sizes; take a larger step",
                           SIZES_MAX);
    }
    return 0;
}

int predict_sizes_parse(const char *text, double factor, struct opt_bytes step,
                        struct predict_sizes *out, struct err *e)
{
    const char *colon;
    *out = (struct predict_sizes){.factor = factor, .step = step.value};
    if (text == NULL)
        return predict_missing("--bytes", e);
    if (!(factor > 1))
        return err_set(e, ERR_USAGE, "--factor: %g is not more than 1", factor);
    if (step.given && step.value == 0)
        return err_set(e, ERR_USAGE, "--step: 0 leads nowhere");
    colon = strchr(text, ':');
    out->sweep = colon != NULL;
    if (out->sweep)
        return parse_range(text, colon, out, e) < 0 ? -1 : check_count(out, e);
    if (parse_size(text, &out->first, e) < 0)
        return -1;
    out->last = out->first;
    return 0;
}

/* Whole bytes; past 0, and past sizes that the factor does not move, by one. */
uint64_t predict_sizes_next(const struct predict_sizes *s, uint64_t size)
{
    double next = (double)size * s->factor;
    if (s->step > 0)
        return s->step > UINT64_MAX - size ? UINT64_MAX : size + s->step;
    if (next > (double)s->last)
        return s->last + 1;
    return (uint64_t)next > size ? (uint64_t)next : size + 1;
}

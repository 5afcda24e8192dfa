/* SPDX-License-Identifier: MIT
 *
 * See calendar.h. Starts are whole ns and bins powers of two, so the limits of bins are exact in a
 * double and the walk from limit to limit ends.
 */
#include "calendar.h"

#include <math.h>
#include <string.h>

#define FIRST_BIN 256 /* ns */

void calendar_reset(struct calendar *c, uint64_t from)
{
    c->from = from;
    c->bin = 0;
}

static void fold(struct calendar *c)
{
    for (unsigned port = 0; port < PORTS; port++)
        for (unsigned i = 0; i < CALENDAR_BINS; i++)
            c->busy[port][i] =
                i < CALENDAR_BINS / 2 ? c->busy[port][2 * i] + c->busy[port][2 * i + 1] : 0;
    c->bin *= 2;
}

static double limit(const struct calendar *c, unsigned bin)
{
    return (double)c->from + (double)bin * (double)c->bin;
}

static unsigned bin_of(const struct calendar *c, double t)
{
    return (unsigned)((t - (double)c->from) / (double)c->bin);
}

void calendar_add(struct calendar *c, enum port port, double begin, double end, double work)
{
    if (work <= 0 || end <= begin)
        return;
    if (!c->bin) {
        memset(c->busy, 0, sizeof c->busy);
        c->bin = FIRST_BIN;
    }
    while (end > limit(c, CALENDAR_BINS))
        fold(c);
    for (unsigned i = bin_of(c, begin); i < CALENDAR_BINS && limit(c, i) < end; i++) {
        double share = fmin(end, limit(c, i + 1)) - fmax(begin, limit(c, i));
        c->busy[port][i] += (float)(work * share / (end - begin));
    }
}

/* The part of one bin that lies between c->from and `until`. */
static void merge_bin(struct calendar *c, const struct calendar *other, unsigned bin, double until)
{
    double begin = limit(other, bin), end = fmin(limit(other, bin + 1), until);
    double kept = fmax(begin, (double)c->from);
    for (unsigned port = 0; port < PORTS && end > kept; port++)
        calendar_add(c, (enum port)port, kept, end,
                     (double)other->busy[port][bin] * (end - kept) / (end - begin));
}

void calendar_merge(struct calendar *c, const struct calendar *other, double until)
{
    for (unsigned i = 0; other->bin && i < CALENDAR_BINS; i++)
        merge_bin(c, other, i, until);
}

/* The share of the port that is taken at t; *next: until when at least that holds. */
static double taken(const struct calendar *c, enum port port, double t, double *next)
{
    unsigned bin;
    if (c == NULL || !c->bin || t >= limit(c, CALENDAR_BINS))
        return 0;
    if (t < (double)c->from) {
        *next = fmin(*next, (double)c->from);
        return 0;
    }
    bin = bin_of(c, t);
    *next = fmin(*next, limit(c, bin + 1));
    return fmin(1, (double)c->busy[port][bin] / (double)c->bin);
}

static void note(const struct calendar_path *path, double begin, double end, double work)
{
    for (int i = 0; i < 2; i++)
        if (path->used[i] != NULL)
            calendar_add(path->used[i], path->port[i], begin, end, work);
}

double calendar_pass(const struct calendar_path *path, double t, double work)
{
    for (;;) {
        double next = INFINITY, left = 1, end;
        for (int i = 0; i < 2; i++)
            left = fmin(left, 1 - taken(path->busy[i], path->port[i], t, &next));
        if (work <= left * (next - t)) {
            end = left > 0 ? t + work / left : t;
            note(path, t, end, work);
            return end;
        }
        note(path, t, next, left * (next - t));
        work -= left * (next - t);
        t = next;
    }
}

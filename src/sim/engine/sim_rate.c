/* SPDX-License-Identifier: MIT
 *
 * Rates of work that something slows down: computation beside transfers that load its device,
 * transfers that share a link, hosts of another speed. Only work under way whose rate changes is
 * looked at, and only when a transfer begins or ends; sim.h has the formulas, README.md the
 * rounding.
 */
#include "sim/engine/sim_internal.h"

#define PPM UINT32_C(1000000)
#define PPB UINT32_C(1000000000)

static const struct rate full_rate = {1, 1};

/* ---- time at a rate ---- */

/* ns * times + more, which stops at SIM_TIME_MAX. */
static int64_t times_plus(uint64_t ns, uint32_t times, uint64_t more)
{
    if (ns > (uint64_t)SIM_TIME_MAX / times)
        return SIM_TIME_MAX;
    return later((int64_t)(ns * times), more > SIM_TIME_MAX ? SIM_TIME_MAX : (int64_t)more);
}

int64_t host_cpu(const struct sim_host *host, int64_t ns)
{
    uint64_t speed = host->speed_ppm, t = (uint64_t)ns;
    if (speed == PPM)
        return ns;
    return times_plus(t / speed, PPM, (t % speed * PPM + speed / 2) / speed);
}

static struct sim_progress progress_begin(const struct sim *s, int64_t left_ns)
{
    return (struct sim_progress){s->now_ns, left_ns, 0, full_rate};
}

/* Takes off what was done since the last time. What is left is rounded down to a billionth. */
static void progress_settle(const struct sim *s, struct sim_progress *p)
{
    uint64_t t = (uint64_t)(s->now_ns - p->since_ns), num = p->rate.num, den = p->rate.den;
    uint64_t part = t % den * num;
    int64_t done_ns = (int64_t)(t / den * num + part / den);
    uint32_t done_ppb = (uint32_t)((part % den * PPB + den - 1) / den);
    p->since_ns = s->now_ns;
    if (done_ppb > p->left_ppb) {
        done_ns++;
        p->left_ppb += PPB;
    }
    p->left_ppb -= done_ppb;
    p->left_ns -= done_ns;
    if (p->left_ns < 0)
        p->left_ns = p->left_ppb = 0;
}

/* Returns when it will be over at its rate: the first whole nanosecond. */
static int64_t progress_end(const struct sim *s, const struct sim_progress *p)
{
    uint64_t num = p->rate.num, den = p->rate.den, left = (uint64_t)p->left_ns;
    uint64_t fraction = p->left_ppb * den, part, last;
    if (num == den)
        return later(s->now_ns, p->left_ns + (p->left_ppb > 0));
    part = left % num * den + fraction / PPB;
    last = part / num + (part % num + fraction % PPB > 0);
    return later(s->now_ns, times_plus(left / num, p->rate.den, last));
}

/* false when the rate is what it was. */
static bool progress_change(const struct sim *s, struct sim_progress *p, struct rate rate)
{
    if (p->rate.num == rate.num && p->rate.den == rate.den)
        return false;
    progress_settle(s, p);
    p->rate = rate;
    return true;
}

/* ---- computation beside transfers ---- */

/* Returns the rest of the full rate, in billionths; a twentieth at least. */
static struct rate rate_beside(const struct sim_device *device, const struct sim_item *item)
{
    uint64_t sm = item->u.work.sm_ppm * device->sm_ppm;
    uint64_t lost = (sm + item->u.work.mem_ppm * device->mem_ppm) / 1000;
    if (lost == 0)
        return full_rate;
    return (struct rate){lost > PPB - PPB / 20 ? PPB / 20 : PPB - (uint32_t)lost, PPB};
}

static bool has_load(const struct transfer *t)
{
    return (t->sm_ppm | t->mem_ppm) != 0;
}

int64_t rate_begin_work(struct sim *s, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    const struct sim_item *item = &s->items[stream->first];
    stream->work = progress_begin(s, item->u.work.dur_ns);
    stream->work.rate = rate_beside(&s->devices[stream->device], item);
    return progress_end(s, &stream->work);
}

/* Integrals of the loads up to now. */
static void settle_device(const struct sim *s, struct sim_device *device)
{
    uint64_t t = (uint64_t)(s->now_ns - device->since_ns);
    device->sm_area += t * device->sm_ppm;
    device->mem_area += t * device->mem_ppm;
    device->since_ns = s->now_ns;
}

/* Puts a load on the device (sign 1), or takes it off (-1). */
static void load_device(struct sim *s, struct sim_device *device, uint32_t sm_ppm, uint32_t mem_ppm,
                        int sign)
{
    settle_device(s, device);
    device->sm_ppm += (uint64_t)((int64_t)sm_ppm * sign);
    device->mem_ppm += (uint64_t)((int64_t)mem_ppm * sign);
    for (uint32_t i = device->streams; i != SIM_NONE; i = s->streams[i].next) {
        struct sim_stream *stream = &s->streams[i];
        if (stream->state != STREAM_WORKS || !s->has_needs)
            continue;
        if (progress_change(s, &stream->work,
                            rate_beside(&s->devices[stream->device], &s->items[stream->first])))
            heap_set(&s->heap, i, progress_end(s, &stream->work));
    }
}

static void load_member(struct sim *s, const struct transfer *t, uint32_t item, int sign)
{
    const struct sim_stream *stream = &s->streams[s->items[item].stream];
    load_device(s, &s->devices[stream->device], t->sm_ppm, t->mem_ppm, sign);
}

static void load_members(struct sim *s, const struct transfer *t, int sign)
{
    for (uint32_t m = t->first; m < t->first + t->members; m++)
        load_member(s, t, s->members[m], sign);
}

void rate_load_member(struct sim *s, const struct transfer *t, uint32_t item, int sign)
{
    if (has_load(t) && (s->has_needs || s->keep_beside))
        load_member(s, t, item, sign);
}

void rate_hold(struct sim *s, const struct sim_stream *stream, int sign)
{
    const struct sim_item *item = &s->items[stream->first];
    uint32_t ppm;
    if (item->kind != ITEM_JOIN || item->u.join.count == 0)
        return;
    ppm = s->joins[item->u.join.first].hold_ppm;
    if (ppm > 0 && (s->has_needs || s->keep_beside))
        load_device(s, &s->devices[stream->device], ppm, 0, sign);
}

void load_integral_open(struct sim *s, const struct sim_stream *stream)
{
    struct sim_device *device = &s->devices[stream->device];
    settle_device(s, device);
    s->areas[stream->first] = (struct area){device->sm_area, device->mem_area};
}

void load_integral_close(struct sim *s, const struct sim_stream *stream)
{
    struct sim_device *device = &s->devices[stream->device];
    struct area *area = &s->areas[stream->first];
    settle_device(s, device);
    area->sm = device->sm_area - area->sm;
    area->mem = device->mem_area - area->mem;
}

/* ---- transfers on links ---- */

/* The shares on the link change; where it has room for all of them, no rate changes. */
static void note_change(struct sim *s, uint32_t index)
{
    struct sim_link *link = &s->links[index];
    if (link->ppm <= PPM || link->changed)
        return;
    link->changed = true;
    link->next_changed = s->changed_links;
    s->changed_links = index;
}

static void use_begins(struct sim *s, uint32_t index)
{
    struct use *use = &s->uses[index];
    struct sim_link *link = &s->links[use->link];
    link->ppm += use->ppm;
    note_change(s, use->link);
    use->before = SIM_NONE;
    use->after = link->uses;
    if (link->uses != SIM_NONE)
        s->uses[link->uses].before = index;
    link->uses = index;
}

static void use_ends(struct sim *s, uint32_t index)
{
    struct use *use = &s->uses[index];
    struct sim_link *link = &s->links[use->link];
    note_change(s, use->link);
    link->ppm -= use->ppm;
    if (use->before == SIM_NONE)
        link->uses = use->after;
    else
        s->uses[use->before].after = use->after;
    if (use->after != SIM_NONE)
        s->uses[use->after].before = use->before;
}

/* Its fullest link decides. */
static struct rate rate_on_links(const struct sim *s, const struct sim_flow *flow)
{
    uint64_t most = PPM;
    uint32_t share = PPM;
    for (uint32_t u = flow->uses; u != SIM_NONE; u = s->uses[u].next) {
        const struct sim_link *link = &s->links[s->uses[u].link];
        if (s->uses[u].ppm > 0 && link->ppm > most)
            most = link->ppm;
    }
    while (most > UINT32_MAX) { /* thousands of transfers: nine digits of the sum will do */
        most /= 10;
        share /= 10;
    }
    return (struct rate){share, (uint32_t)most};
}

/* A thousand messages that begin together on one link are timed once, not a thousand times each. */
void rate_settle_links(struct sim *s)
{
    s->pass++;
    while (s->changed_links != SIM_NONE) {
        struct sim_link *link = &s->links[s->changed_links];
        s->changed_links = link->next_changed;
        link->changed = false;
        for (uint32_t u = link->uses; u != SIM_NONE; u = s->uses[u].after) {
            struct sim_flow *flow = &s->flows[s->uses[u].flow];
            /* Once a pass, however many of its links have changed. */
            if (flow->pass == s->pass)
                continue;
            flow->pass = s->pass;
            if (progress_change(s, &flow->work, rate_on_links(s, flow)))
                heap_set(&s->heap, transfer_id(s, flow->transfer), progress_end(s, &flow->work));
        }
    }
}

/* ---- transfers ---- */

int64_t rate_begin_transfer(struct sim *s, uint32_t index)
{
    const struct transfer *t = &s->transfers[index];
    struct sim_flow *flow;
    if (has_load(t) && (s->has_needs || s->keep_beside))
        load_members(s, t, 1);
    if (t->flow == SIM_NONE)
        return later(s->now_ns, t->cost_ns);
    flow = &s->flows[t->flow];
    for (uint32_t u = flow->uses; u != SIM_NONE; u = s->uses[u].next)
        use_begins(s, u);
    flow->work = progress_begin(s, t->cost_ns);
    flow->work.rate = rate_on_links(s, flow);
    return progress_end(s, &flow->work);
}

void rate_end_transfer(struct sim *s, uint32_t index)
{
    const struct transfer *t = &s->transfers[index];
    if (has_load(t) && (s->has_needs || s->keep_beside))
        load_members(s, t, -1);
    if (t->flow == SIM_NONE)
        return;
    for (uint32_t u = s->flows[t->flow].uses; u != SIM_NONE; u = s->uses[u].next)
        use_ends(s, u);
}

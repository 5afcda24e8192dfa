/* SPDX-License-Identifier: MIT
 *
 * Finds why a run took as long as it did: its critical path, and the gaps on its streams. Of an
 * item only its launch and the item before it in the stream are noted, of a host what ended its
 * waits; the rest follows from times. An item that started when the one before it ended waited for
 * that one, otherwise for its launch; between two waits a host computes.
 */
#include "base/order.h"
#include "sim/engine/sim_internal.h"

#include <assert.h>

enum place {
    AT_LAST,           /* the last thing that ended, to be found */
    AT_END,            /* of an item */
    AT_START,          /* of an item */
    AT_TRANSFER_END,   /* of a transfer */
    AT_TRANSFER_START, /* of a transfer, or the end of its delay */
    AT_WAY_START,      /* of a one-way transfer's source, or the end of the delay */
    AT_HOST_END,
    AT_ACTION,  /* a host does the action */
    AT_ACTED,   /* it has done the action before that, and is not blocked any more */
    AT_NOTHING, /* the path is over */
};

/* The transfer of a joined item that ended last; SIM_NONE: it has none. */
static uint32_t last_transfer(const struct sim *s, uint32_t item)
{
    uint32_t last = SIM_NONE;
    for (size_t j = s->items[item].u.join.first; j < s->njoins && s->joins[j].item == item; j++) {
        uint32_t t = s->joins[j].transfer;
        if (last == SIM_NONE || s->transfers[t].end_ns > s->transfers[last].end_ns)
            last = t;
    }
    return last;
}

static uint32_t host_of(const struct sim *s, uint32_t action)
{
    struct bisect find = {.low = 1, .high = s->nhosts}; /* the first whose actions come later */
    while (bisect_next(&find))
        bisect_take(&find, s->hosts[find.mid].first <= action);
    return (uint32_t)find.low - 1;
}

/* ---- places: each goes one back on the path; true when that is a step ---- */

static bool go(struct sim_path *path, struct sim_path to, enum sim_step_kind kind,
               struct sim_step *out)
{
    *out = (struct sim_step){kind, path->who, to.t_ns, path->t_ns, SIM_NONE, SIM_NONE};
    *path = to;
    return out->start_ns < out->end_ns;
}

/* Moves to another place at the same time. */
static bool hop(struct sim_path *path, enum place at, uint32_t who, uint32_t action)
{
    *path = (struct sim_path){at, who, action, path->t_ns};
    return false;
}

static bool from_last(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    (void)out;
    *path = (struct sim_path){.at = AT_NOTHING, .t_ns = NOT_YET};
    for (uint32_t i = 0; i < s->nitems; i++) {
        if (s->items[i].end_ns > path->t_ns)
            *path = sim_path_from_item(s, i);
    }
    for (uint32_t h = 0; h < s->nhosts; h++) {
        if (sim_host_end(s, h) > path->t_ns)
            *path = sim_path_from_host(s, h);
    }
    return false;
}

/* Moves from the end of a member's part to the member that data waited for last. */
static bool from_one_way_end(const struct sim *s, struct sim_path *path, uint32_t transfer,
                             struct sim_step *out)
{
    const struct transfer *t = &s->transfers[transfer];
    uint32_t last = one_way_last(s, path->who);
    bool source = last == s->members[t->first];
    int64_t start_ns = source ? t->start_ns : s->items[last].start_ns;
    int from = source ? AT_WAY_START : AT_START;
    bool is_step = go(path, (struct sim_path){from, last, 0, start_ns}, SIM_STEP_TRANSFER, out);
    out->who = transfer;
    return is_step;
}

static bool from_one_way_start(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    int64_t start_ns = s->items[path->who].start_ns;
    uint32_t transfer = s->items[path->who].u.join.transfer;
    bool is_step =
        go(path, (struct sim_path){AT_START, path->who, 0, start_ns}, SIM_STEP_DELAY, out);
    out->who = transfer;
    return is_step;
}

static bool from_end(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    const struct sim_item *item = &s->items[path->who];
    uint32_t transfer;
    if (item->kind == ITEM_WORK)
        return go(path, (struct sim_path){AT_START, path->who, 0, item->start_ns}, SIM_STEP_WORK,
                  out);
    if (item->kind == ITEM_WAIT && item->end_ns > item->start_ns)
        return hop(path, AT_END, item->u.wait.by, 0);
    if (item->kind != ITEM_JOIN || (transfer = last_transfer(s, path->who)) == SIM_NONE)
        return hop(path, AT_START, path->who, 0);
    if (one_way_of(s, item) != NULL)
        return from_one_way_end(s, path, transfer, out);
    return go(path, (struct sim_path){AT_TRANSFER_END, transfer, 0, s->transfers[transfer].end_ns},
              SIM_STEP_LAG, out);
}

static bool from_start(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    const struct sim_item *item = &s->items[path->who];
    struct cause cause = s->causes[path->who];
    bool is_work = item->kind == ITEM_WORK || item->kind == ITEM_JOIN;
    if (cause.before != SIM_NONE && s->items[cause.before].end_ns == path->t_ns)
        return hop(path, AT_END, cause.before, 0);
    return go(path,
              (struct sim_path){AT_ACTION, host_of(s, cause.action), cause.action,
                                path->t_ns - (is_work ? s->latency_ns : 0)},
              SIM_STEP_LATENCY, out);
}

static bool from_transfer_end(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    int64_t start_ns = s->transfers[path->who].start_ns;
    return go(path, (struct sim_path){AT_TRANSFER_START, path->who, 0, start_ns}, SIM_STEP_TRANSFER,
              out);
}

static bool from_transfer_start(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    const struct transfer *t = &s->transfers[path->who];
    int64_t start_ns = s->items[t->last_item].start_ns;
    return go(path, (struct sim_path){AT_START, t->last_item, 0, start_ns}, SIM_STEP_DELAY, out);
}

static bool from_host_end(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    const struct sim_host *host = &s->hosts[path->who];
    return go(path,
              (struct sim_path){AT_ACTED, path->who, host->end,
                                path->t_ns - host_cpu(host, host->tail_ns)},
              SIM_STEP_CPU, out);
}

/* CPU time of the host before the action, at the host's speed. */
static int64_t action_cpu(const struct sim *s, const struct sim_host *host,
                          const struct action *action)
{
    if (action->kind == ACTION_PAUSE)
        return host_cpu(host, s->pauses[action->arg]);
    return host_cpu(host, action->cpu_ns);
}

static bool from_action(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    const struct sim_host *host = &s->hosts[path->who];
    const struct action *action = &s->actions[path->action];
    uint32_t block = s->action_block[path->action];
    uint32_t item = action->kind == ACTION_LAUNCH ? action->arg : SIM_NONE;
    bool is_step;
    if (action->kind == ACTION_LAUNCH && block != SIM_NONE) {
        go(path, (struct sim_path){AT_END, s->blocks[block].by, 0, path->t_ns}, SIM_STEP_QUEUE,
           out);
        out->item = item;
        return true;
    }
    is_step = go(path,
                 (struct sim_path){AT_ACTED, path->who, path->action,
                                   path->t_ns - action_cpu(s, host, action)},
                 SIM_STEP_CPU, out);
    out->item = item;
    out->mark = action->kind == ACTION_MARK ? action->arg : SIM_NONE;
    return is_step;
}

static bool from_acted(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    uint32_t before = path->action - 1, block;
    if (path->action == s->hosts[path->who].first)
        return go(path, (struct sim_path){.at = AT_NOTHING}, SIM_STEP_BEGIN, out);
    block = s->action_block[before];
    if (s->actions[before].kind != ACTION_LAUNCH && block != SIM_NONE)
        return hop(path, AT_END, s->blocks[block].by, 0);
    return hop(path, AT_ACTION, path->who, before);
}

static bool (*const places[])(const struct sim *, struct sim_path *, struct sim_step *) = {
    [AT_LAST] = from_last,
    [AT_END] = from_end,
    [AT_START] = from_start,
    [AT_TRANSFER_END] = from_transfer_end,
    [AT_TRANSFER_START] = from_transfer_start,
    [AT_WAY_START] = from_one_way_start,
    [AT_HOST_END] = from_host_end,
    [AT_ACTION] = from_action,
    [AT_ACTED] = from_acted,
};

struct sim_path sim_path_from_item(const struct sim *s, uint32_t item)
{
    int64_t end_ns = s->items[item].end_ns;
    return (struct sim_path){end_ns != NOT_YET ? AT_END : AT_NOTHING, item, 0, end_ns};
}

struct sim_path sim_path_from_start(const struct sim *s, uint32_t item)
{
    const struct sim_item *i = &s->items[item];
    return (struct sim_path){i->started ? AT_START : AT_NOTHING, item, 0, i->start_ns};
}

struct sim_path sim_path_from_host(const struct sim *s, uint32_t host)
{
    int64_t end_ns = sim_host_end(s, host);
    return (struct sim_path){end_ns != NOT_YET ? AT_HOST_END : AT_NOTHING, host, 0, end_ns};
}

bool sim_path(const struct sim *s, struct sim_path *path, struct sim_step *out)
{
    assert(s->keep_causes);
    while (path->at != AT_NOTHING) {
        if (places[path->at](s, path, out))
            return true;
    }
    return false;
}

uint32_t sim_awaited(const struct sim *s, uint32_t item)
{
    uint32_t last = SIM_NONE, before = s->causes[item].before;
    assert(s->keep_causes);
    if (before == SIM_NONE || s->items[before].end_ns != s->items[item].start_ns)
        return SIM_NONE;
    for (; before != SIM_NONE && s->items[before].kind > ITEM_JOIN;
         before = s->causes[before].before) {
        uint32_t by = s->items[before].kind == ITEM_WAIT ? s->items[before].u.wait.by : SIM_NONE;
        if (by != SIM_NONE && (last == SIM_NONE || s->items[by].end_ns > s->items[last].end_ns))
            last = by;
    }
    return last;
}

/* ---- gaps ---- */

static void add_part(struct sim_gap *gap, enum sim_gap_kind kind, int64_t *part_ns, int64_t ns)
{
    if (ns <= 0)
        return;
    *part_ns += ns;
    gap->ns += ns;
    if (gap->kind == SIM_GAP_NONE) /* they are added from the last to the first */
        gap->kind = kind;
}

struct sim_gap sim_gap(const struct sim *s, uint32_t item)
{
    struct sim_gap gap = {SIM_GAP_NONE, 0, 0, 0, 0};
    const struct sim_item *i = &s->items[item];
    uint32_t transfer = i->kind == ITEM_JOIN ? last_transfer(s, item) : SIM_NONE;
    assert(s->keep_causes);
    if (i->end_ns == NOT_YET)
        return gap;
    if (transfer != SIM_NONE)
        add_part(
            &gap, SIM_GAP_MEMBERS, &gap.members_ns,
            (one_way_of(s, i) != NULL ? one_way_reach(s, item) : s->transfers[transfer].start_ns) -
                i->start_ns);
    for (uint32_t at = item; at != SIM_NONE;) {
        uint32_t before = s->causes[at].before;
        int64_t free_ns = before == SIM_NONE ? 0 : s->items[before].end_ns;
        add_part(&gap, SIM_GAP_HOST, &gap.host_ns, s->items[at].start_ns - free_ns);
        if (before == SIM_NONE || s->items[before].kind <= ITEM_JOIN)
            break;
        if (s->items[before].kind == ITEM_WAIT)
            add_part(&gap, SIM_GAP_EVENT, &gap.event_ns, free_ns - s->items[before].start_ns);
        at = before;
    }
    return gap;
}

int64_t sim_launched(const struct sim *s, uint32_t item)
{
    assert(s->keep_causes && s->items[item].end_ns != NOT_YET);
    return s->causes[item].launched_ns;
}

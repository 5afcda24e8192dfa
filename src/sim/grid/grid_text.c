/* SPDX-License-Identifier: MIT
 *
 * A grid in words.
 */
#include "sim/grid/grid.h"

#include "base/buf.h"

#include <math.h>

static const char *const trust_names[] = {
    [GRID_ASSUMED] = "assumed",
    [GRID_LIKELY] = "operations",
    [GRID_NAMED] = "name",
    [GRID_TOLD] = "told",
};

const char *grid_trust_name(enum grid_trust trust)
{
    return trust_names[trust];
}

static uint64_t all_calls(const struct grid_comm *comm)
{
    uint64_t all = 0;
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++)
        all += comm->did.calls[op];
    return all;
}

/* The communicator that spans just this axis and does most; NULL. */
static const struct grid_comm *busiest(const struct grid *g, const struct grid_input *in, int axis)
{
    const struct grid_comm *best = NULL;
    for (size_t c = 0; c < in->ncomms; c++) {
        if (g->comms[c].axes != 1u << axis)
            continue;
        if (best == NULL || all_calls(&in->comms[c]) > all_calls(best))
            best = &in->comms[c];
    }
    return best;
}

/* "96 AllReduce", "12 AllGather and 6 ReduceScatter". False when it does nothing. */
static bool put_calls(struct buf *out, const struct grid_comm *comm, double steps)
{
    bool any = false;
    for (int op = 0; comm != NULL && op < SPECTER_COMM_OP_COUNT; op++) {
        double calls = (double)comm->did.calls[op] / steps;
        if (comm->did.calls[op] == 0)
            continue;
        buf_printf(out, "%s%.3g %s", any ? " and " : ", ", calls < 1e3 ? calls : round(calls),
                   specter_comm_op_name((enum specter_comm_op)op));
        any = true;
    }
    if (any)
        buf_puts(out, " a step");
    return any;
}

static void put_ranks(struct buf *out, const struct grid_axis *axis)
{
    int last = axis->stride * (axis->size - 1);
    if (axis->stride == 1)
        buf_printf(out, "ranks 0-%d, stride 1", last);
    else if (axis->size == 2)
        buf_printf(out, "ranks 0,%d, stride %d", last, axis->stride);
    else
        buf_printf(out, "ranks 0,%d%s,%d, stride %d", axis->stride, axis->size > 3 ? ",.." : "",
                   last, axis->stride);
}

const char *grid_axis_text(struct grid *g, const struct grid_input *in, int a)
{
    const struct grid_axis *axis = &g->axes[a];
    struct buf text = BUF_INIT;
    const char *copy;
    buf_printf(&text, "%s=%d", grid_role_name(axis->role), axis->size);
    if (axis->size > 1) {
        buf_puts(&text, " (");
        put_ranks(&text, axis);
        if (axis->role == GRID_EP && axis->trust == GRID_LIKELY)
            buf_puts(&text, ", all-to-all");
        if (!put_calls(&text, busiest(g, in, a), in->steps))
            buf_printf(&text, ", %s", axis->why);
        buf_puts(&text, ")");
    }
    copy = arena_strndup(&g->arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

const char *grid_sentence(struct grid *g, const struct grid_input *in)
{
    struct buf text = BUF_INIT;
    const char *copy;
    if (g->state == GRID_NONE)
        buf_printf(&text, "not known: %s", g->problem);
    if (g->state == GRID_AMBIGUOUS) {
        buf_printf(&text, "ambiguous: %s", g->problem);
        for (int i = 0; i < g->ncandidates; i++)
            buf_printf(&text, "%s%s", i > 0 ? " or " : "; --parallel ", g->candidates[i]);
    }
    for (int a = 0; g->state == GRID_FOUND && a < g->naxes; a++) {
        if (g->axes[a].size == 1 && g->world > 1)
            continue;
        buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", grid_axis_text(g, in, a));
    }
    copy = text.len > 0 ? arena_strndup(&g->arena, text.data, text.len) : "one rank";
    buf_release(&text);
    return copy;
}

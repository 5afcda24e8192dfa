/* SPDX-License-Identifier: MIT
 *
 * What is said of the rules of scale.
 */
#include "sim/replay/notes.h"

static bool same_role(enum grid_role a, enum grid_role b)
{
    bool data_a = a == GRID_DP || a == GRID_FSDP, data_b = b == GRID_DP || b == GRID_FSDP;
    return a == b || (data_a && data_b);
}

/* Each axis of which the operations, or names, tell another role than the user does. */
void note_given_grid(struct replay *rep)
{
    struct grid found;
    grid_find(&found, &rep->groups);
    for (int i = 0; i < GRID_AXES_MAX * GRID_AXES_MAX; i++) {
        int a = i / GRID_AXES_MAX, b = i % GRID_AXES_MAX;
        const struct grid_axis *given = &rep->grid.axes[a], *seen = &found.axes[b];
        if (a >= rep->grid.naxes || b >= found.naxes || found.state != GRID_FOUND)
            continue;
        if (given->size > 1 && given->size == seen->size && given->stride == seen->stride &&
            seen->trust >= GRID_LIKELY && !same_role(given->role, seen->role))
            replay_note(rep, false,
                        "--parallel says %s=%d (stride %d), but its groups look like %s: %s",
                        grid_role_name(given->role), given->size, given->stride,
                        grid_role_name(seen->role), seen->why);
    }
    grid_release(&found);
}

void note_strong(struct replay *rep, const struct strong_scaling *s)
{
    if (!rep->strong || s->refused != NULL)
        return;
    replay_assume(rep,
                  "strong scaling (--strong): the batch stays and each rank has 1 / scale of its "
                  "tokens; micro-batches keep their number and have %u tokens at scale 1, which is "
                  "the dimension of every GEMM that is divided",
                  s->tokens);
    replay_assume(rep, "transfers of activations carry 1 / scale of the bytes, those of gradients "
                       "and parameters what they did; of kernels on activations what the "
                       "smallest kernel takes stays, the rest is divided by the scale; the "
                       "optimizer, memsets, copies to and from the host and CPU time stay");
}

void note_undivided(struct replay *rep, double share)
{
    rep->topic = TOPIC_SCALE;
    replay_assume(rep,
                  "%.1f %% of the device time keeps its length, because its part in the batch is "
                  "not known (kernels of no known class, graphs, operations of unknown size); "
                  "refused above %.0f %%",
                  100 * share, 100 * STRONG_UNTOLD_MAX);
}

void note_exchanges(struct replay *rep, const struct weak_scaling *g)
{
    if (weak_scaling_alltoalls(g) && g->refused == NULL)
        replay_assume(rep,
                      "all-to-alls made of messages: each rank sends as much as recorded, what "
                      "went to a member is spread over those in its place; measured time x "
                      "model(all-to-all, grown) / model(all-to-all, recorded). The host's time "
                      "for more messages is not added");
}

/* Blocks on both sides, as everybody expects, need no word. */
void note_placement(struct replay *rep, const struct weak_scaling *g)
{
    const char *source = placement_text(&g->source, &rep->arena);
    bool plain = g->target.kind == PLACE_BLOCK && g->target.per_node == 0;
    if (g->source_given)
        replay_assume(rep, "ranks were recorded on nodes by %s, as their hosts tell", source);
    else if (g->source_doubt != NULL)
        replay_assume(rep, "ranks were recorded on nodes by block: %s", g->source_doubt);
    if (!plain || g->source_given)
        replay_assume(rep, "ranks sit on the target's nodes by %s (--placement)", rep->placement);
}

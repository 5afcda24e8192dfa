/* SPDX-License-Identifier: MIT
 *
 * What is said of the rules of scale.
 */
#include "sim/say.h"

void say_exchanges(struct replay *rep, const struct growth *g)
{
    if (growth_exchanges(g) && g->refused == NULL)
        replay_assume(rep,
                      "all-to-alls made of messages: each rank sends as much as recorded, what "
                      "went to a member is spread over those in its place; measured time x "
                      "model(all-to-all, grown) / model(all-to-all, recorded). The host's time "
                      "for more messages is not added");
}

/* Blocks on both sides, as everybody expects, need no word. */
void say_placement(struct replay *rep, const struct growth *g)
{
    const char *source = placement_words(&g->source, &rep->arena);
    const char *target = placement_words(&g->target, &rep->arena);
    bool plain = g->target.kind == PLACE_BLOCK && g->target.per_node == 0;
    if (g->source_told)
        replay_assume(rep, "ranks were recorded on nodes by %s, as their hosts tell", source);
    else if (g->source_doubt != NULL)
        replay_assume(rep, "ranks were recorded on nodes by block: %s", g->source_doubt);
    if (!plain || g->source_told)
        replay_assume(rep, "ranks sit on the target's nodes by %s (--placement)", target);
}

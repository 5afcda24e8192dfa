/* SPDX-License-Identifier: MIT */
#include "sim/replay/facts.h"

#include "sim/replay/replay.h"

void fact_add_loss(struct replay *rep, bool loss, enum replay_fact fact,
                   const struct fact_value *values)
{
    struct replay_facts *facts = &rep->facts;
    struct fact_value *own;
    size_t n = 0;
    while (values != NULL && values[n].type != FACT_VALUE_END)
        n++;
    own = arena_alloc(&rep->arena, (n + 1) * sizeof *own); /* all 0: the last one is the end */
    for (size_t i = 0; i < n; i++) {
        own[i] = values[i];
        if (own[i].type == FACT_VALUE_TEXT)
            own[i].text = arena_strdup(&rep->arena, own[i].text);
    }
    ARRAY_GROW(facts->list, facts->cap, facts->count + 1);
    facts->list[facts->count++] = (struct stated_fact){fact, loss, own};
}

void fact_add(struct replay *rep, enum replay_fact fact, const struct fact_value *values)
{
    fact_add_loss(rep, false, fact, values);
}

void fact_add_count(struct replay *rep, enum replay_fact fact, uint64_t count)
{
    if (count > 0)
        fact_add(rep, fact, VALUES(fact_count(count)));
}

void fact_add_count_ns(struct replay *rep, enum replay_fact fact, uint64_t count, int64_t ns)
{
    if (count > 0)
        fact_add(rep, fact, VALUES(fact_count(count), fact_number((double)ns / 1e3)));
}

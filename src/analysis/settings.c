/* SPDX-License-Identifier: MIT */
#include "analysis/settings.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *pa, const void *pb)
{
    const struct setting_row *a = pa, *b = pb;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->value, b->value);
}

void settings_init(struct settings *s, const struct run *run)
{
    size_t n = 0;
    *s = (struct settings){0};
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nsettings; i++) {
            const struct setting *one = &run->ranks[r].settings[i];
            ARRAY_GROW(s->list, s->cap, s->n + 1);
            s->list[s->n++] = (struct setting_row){one->name, one->value, 1};
        }
    }
    if (s->n > 1)
        qsort(s->list, s->n, sizeof *s->list, by_name);
    for (size_t i = 0; i < s->n; i++) {
        if (n > 0 && by_name(&s->list[n - 1], &s->list[i]) == 0)
            s->list[n - 1].ranks++;
        else
            s->list[n++] = s->list[i];
    }
    s->n = n;
}

void settings_release(struct settings *s)
{
    free(s->list);
}

bool settings_is_identity(const char *name)
{
    static const char *const names[] = {"SLURM_JOB_ID", "SLURM_STEP_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

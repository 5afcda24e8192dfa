/* SPDX-License-Identifier: MIT */
#include "model/accuracy.h"

#include <string.h>

static const struct accuracy *find(enum accuracy_kind kind, const char *key)
{
    for (size_t i = 0; i < accuracy_count; i++) {
        if (accuracies[i].kind == kind && strcmp(accuracies[i].key, key) == 0)
            return &accuracies[i];
    }
    return NULL;
}

/* The class itself when it is known; else "any", which may be missing. */
static const struct accuracy *class_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *own = find(kind, profile), *any = find(kind, "any");
    *known = own != NULL && own != any && own->rows >= ACCURACY_ROWS_MIN;
    return *known ? own : any;
}

double accuracy_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *of = class_of(kind, profile, known);
    if (*known)
        return of->median_ape;
    return of != NULL ? of->p90_ape : 1;
}

double accuracy_p90_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *of = class_of(kind, profile, known);
    return of != NULL ? of->p90_ape : 1;
}

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

double accuracy_of(enum accuracy_kind kind, const char *profile, bool *known)
{
    const struct accuracy *own = find(kind, profile), *any = find(kind, "any");
    *known = own != NULL && own != any && own->rows >= ACCURACY_ROWS_MIN;
    if (*known)
        return own->median_ape;
    return any != NULL ? any->p90_ape : 1;
}

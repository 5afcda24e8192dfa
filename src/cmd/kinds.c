/* SPDX-License-Identifier: MIT */
#include "cmd/kinds.h"

#include "base/arena.h"

#include <string.h>

static const struct cmd_kind *find(const struct cmd_kind *const *kinds, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, kinds[i]->name) == 0)
            return kinds[i];
    }
    return NULL;
}

static void list_names(const struct cmd_kind *const *kinds, size_t n, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", i > 0 ? ", " : "", kinds[i]->name);
}

int cmd_run_kind(const struct command *self, const struct cmd_kind *const *kinds, size_t nkinds,
                 int argc, char **argv, struct err *e)
{
    const struct cmd_kind *kind;
    struct arena a;
    char known[256];
    int n, status = cmd_parse(self, NULL, argc, argv, true, &n, e);
    if (status >= 0)
        return status;
    kind = n > 0 ? find(kinds, nkinds, argv[0]) : NULL;
    if (kind == NULL) {
        list_names(kinds, nkinds, known, sizeof known);
        if (n == 0)
            err_set(e, ERR_USAGE, "%s what? Known are %s (see 'specter help %s')", self->name,
                    known, self->name);
        else
            err_set(e, ERR_USAGE, "%s knows no '%.64s'; known are %s (see 'specter help %s')",
                    self->name, argv[0], known, self->name);
        return ERR_USAGE;
    }
    arena_init(&a);
    status = kind->run(&kind->command, n, argv, &a, e);
    arena_release(&a);
    return status;
}

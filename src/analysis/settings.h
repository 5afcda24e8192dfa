/* SPDX-License-Identifier: MIT
 *
 * The ranks' configuration: settings of the environment and versions of libraries, as far as the
 * traces hold them.
 *
 *     struct settings s;
 *     settings_init(&s, &run);
 *     for (size_t i = 0; i < s.n; i++)
 *         use(s.list[i].name, s.list[i].value, s.list[i].ranks);
 *     settings_release(&s);
 */
#ifndef SPECTER_ANALYSIS_SETTINGS_H
#define SPECTER_ANALYSIS_SETTINGS_H

#include "trace/run.h"

struct setting_row {
    const char *name, *value; /* borrowed from the run */
    size_t ranks;             /* that have it; processes, where these have several ranks */
};

struct settings {
    struct setting_row *list; /* owned; by name, then value: a name may have several */
    size_t n, cap;
};

/* The run must outlive s. */
void settings_init(struct settings *s, const struct run *run);
void settings_release(struct settings *s);

/* Returns whether a setting names the job and not how it runs (SLURM_JOB_ID), so that it differs
 * from run to run. */
bool settings_is_identity(const char *name);

#endif

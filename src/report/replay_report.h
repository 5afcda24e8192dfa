/* SPDX-License-Identifier: MIT
 *
 * The report of `specter replay`: the scaling table with what it rests on, or everything as JSON
 * (schema "specter.replay/1", docs/replay.md).
 */
#ifndef SPECTER_REPORT_REPLAY_REPORT_H
#define SPECTER_REPORT_REPLAY_REPORT_H

#include "sim/replay/replay.h"

#include <stdio.h>

/* At most 80 columns. Words are made in the grid's arena. */
void replay_text(struct replay *rep, const struct run *run, FILE *out);

struct cJSON;
struct cJSON *replay_json(struct replay *rep, const struct run *run); /* caller deletes */

#endif

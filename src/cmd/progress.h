/* SPDX-License-Identifier: MIT
 *
 * A bar on stderr while something long goes on: how much of it is done, how fast, how long it will
 * take, what was done last. Only where stderr is a terminal that can go back in its line.
 *
 *     progress_start(&p, total, color);
 *     progress_show(&p, done, "a100_sxm");      as often as one likes
 *     progress_end(&p);                         takes the bar away
 */
#ifndef SPECTER_CMD_PROGRESS_H
#define SPECTER_CMD_PROGRESS_H

#include "base/terminal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_line {
    bool on, color;
    size_t total;
    int64_t start_ns, shown_ns;
};

void progress_start(struct progress_line *p, size_t total, enum color_when color);
void progress_show(struct progress_line *p, size_t done, const char *what);

/* For those that count in other things: the time since the start, and a bar filled to that share
 * with a text after it. */
int64_t progress_ns(const struct progress_line *p);
void progress_draw(struct progress_line *p, double share, const char *rest);

void progress_end(struct progress_line *p);

#endif

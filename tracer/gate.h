/* SPDX-License-Identifier: MIT
 *
 * What of the program is recorded just now: kinds of records that were not asked for, ranks that
 * were left out, and whatever else closes the gate for a while. Communicators and clocks are
 * recorded whatever it says.
 */
#ifndef SPECTER_TRACER_GATE_H
#define SPECTER_TRACER_GATE_H

#include "record.h"

#include <stdbool.h>

/* In hooks: is a record of this kind wanted? */
bool gate_wants(enum record_kind kind);

/* The program has marked a moment (of a range: its start). Called before the mark itself is
 * recorded. */
void gate_mark(const char *name, enum specter_mark kind);

#endif

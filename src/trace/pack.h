/* SPDX-License-Identifier: MIT
 *
 * What a reader made of one file, as bytes: so it travels from the process that read the file to
 * the one that puts the run together (share.h). The bytes are those of this version of the program
 * on this kind of machine (pack_form()). Damage of them is found by who stores them (share.h);
 * indexes are checked here, other figures are believed.
 *
 *     run_pack(&bytes, &part);
 *     if (run_unpack(&copy, bytes.data, bytes.len, e) == 0) ...   copy holds what part holds
 */
#ifndef SPECTER_TRACE_PACK_H
#define SPECTER_TRACE_PACK_H

#include "base/buf.h"
#include "trace/run.h"

/* Appends a part as its reader left it: ranks, communicators, notes, and what a reader says of the
 * whole (struct run). */
void run_pack(struct buf *out, const struct run *part);

/* Into a run that was initialised and is empty. Texts are interned. -1 with e filled (ERR_INPUT):
 * these are not the bytes of a part; the run must be released in either case. */
int run_unpack(struct run *part, const char *data, size_t len, struct err *e);

/* Equal where one program can read what the other has packed. */
uint64_t pack_form(void);

#endif

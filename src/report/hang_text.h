/* SPDX-License-Identifier: MIT
 *
 * A hang in one sentence: who is at fault, in which operation of which communicator, and who has
 * waited for how long.
 */
#ifndef SPECTER_REPORT_HANG_TEXT_H
#define SPECTER_REPORT_HANG_TEXT_H

#include "analysis/hang.h"
#include "base/buf.h"

/* Appends it, without a full stop; safe for a terminal. */
void hang_text(struct buf *out, const struct hang *hang, const struct run *run);

/* Appends "ranks 12, 14 block the others": all who are at fault, each once. False, and nothing,
 * when no rank is. */
bool hang_culprits_text(struct buf *out, const struct hangs *h);

/* Likewise of what is under way and no hang as far as the traces show; there must be some. */
void hang_under_way_text(struct buf *out, const struct hangs *h, const struct run *run);

/* "AllReduce #17", "Send #3", "GemmEx": how an operation is called in a sentence. */
void hang_op_text(struct buf *out, const struct op *op);

#endif

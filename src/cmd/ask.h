/* SPDX-License-Identifier: MIT
 *
 * Questions that are asked in a child process, because what answers may hang or crash: a GPU's
 * driver, ldconfig, an interpreter, a version manager. Nothing of the child is seen but its stdout,
 * and a crash leaves no core.
 *
 *     const char *const argv[] = {"python3", "-c", text, NULL};
 *     struct buf out = BUF_INIT;
 *     int status = ask_program(argv, 10, &out);
 */
#ifndef SPECTER_CMD_ASK_H
#define SPECTER_CMD_ASK_H

#include "base/buf.h"

#define ASK_LATE (-1) /* it took too long and was killed, or could not be started */

/* Runs work(arg) in a child whose stdout is appended to `out`. Its wait status, or ASK_LATE. */
int ask_child(void (*work)(void *arg), void *arg, double limit_s, struct buf *out);

/* The same of a program that is looked up in PATH; argv ends with NULL. */
int ask_program(const char *const *argv, double limit_s, struct buf *out);

#endif

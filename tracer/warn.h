/* SPDX-License-Identifier: MIT
 *
 * The one line that the tracer may ever print to the program's stderr.
 */
#ifndef SPECTER_TRACER_WARN_H
#define SPECTER_TRACER_WARN_H

/* Prints "specter: <parts joined>\n" on stderr, the first time in a process; later calls do
 * nothing, also where the first could not print. Silent when stderr was closed or became another
 * file since the program started (the number 2 may by now be one of its data files), or when the
 * line would have to wait for a reader. The list ends with NULL. Keeps errno. */
void warn_once(const char *part, ...) __attribute__((sentinel));

/* Allows the line again, so that a fork starts with its own. */
void warn_reset(void);

#endif

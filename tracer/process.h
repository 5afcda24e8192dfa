/* SPDX-License-Identifier: MIT
 *
 * Which process this is. A child of fork() is told by a handler (tracer.c); one of a bare clone()
 * runs no handler, shares nothing with us but copies of our memory, and must neither end the trace
 * of its parent nor write to its file. It is recognised by a page that the kernel clears in every
 * child (MADV_WIPEONFORK, Linux 4.14), so that no process id is asked for later: a program
 * may by then run under a seccomp filter that kills it for the question.
 *
 * A child that shares our memory (vfork(), clone() with CLONE_VM) cannot be told from us so. It may
 * only call exec or _exit() anyway, and runs none of our code there.
 */
#ifndef SPECTER_TRACER_PROCESS_H
#define SPECTER_TRACER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* From here on the calling process is ours; a child of fork() calls it anew. */
void process_begin(pid_t pid);

bool process_is_ours(void); /* keeps errno */
pid_t process_id(void);     /* of the one that is */

#endif

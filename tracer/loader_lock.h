/* SPDX-License-Identifier: MIT
 *
 * Keeps fork() from running while a thread is in a call of the dynamic loader. The loader answers
 * them under locks of its own, and a fork() at such a moment leaves these locked in the child, for
 * good: its next dlopen() or dl_iterate_phdr() never returns. The tracer asks where an untraced
 * program does not, in a thread of its own, too; so whatever it asks is asked between
 * loader_enter() and loader_leave(), and fork() waits for those that are under way, at most
 * FORK_PATIENCE_NS.
 */
#ifndef SPECTER_TRACER_LOADER_LOCK_H
#define SPECTER_TRACER_LOADER_LOCK_H

#include <dlfcn.h>
#include <link.h>

#define FORK_PATIENCE_NS INT64_C(100000000)

/* In pairs, which may be nested. Where another thread forks just then, the outer loader_enter()
 * waits until fork() returns, FORK_PATIENCE_NS at most. */
void loader_enter(void);
void loader_leave(void);

/* dl_iterate_phdr() and dladdr() between the two. */
int loader_objects(int (*take)(struct dl_phdr_info *, size_t, void *), void *arg);
int loader_address(const void *address, Dl_info *info);

/* Makes fork() wait from here on. Called once a process. */
void loader_lock_begin(void);

#endif

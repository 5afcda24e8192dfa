/* SPDX-License-Identifier: MIT
 *
 * Questions of the tracer to the dynamic loader that the program does not notice: libc's own
 * functions, not while the program forks (both loader.c), with the program's pending error kept
 * (pending.c), and in the name of another object (as_caller.c).
 */
#ifndef SPECTER_TRACER_LOADER_H
#define SPECTER_TRACER_LOADER_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- libc's functions ----
 *
 * The dlsym() and dlvsym() of libc. The tracer calls these and never `dlsym`, which is its wrapper
 * for the program (dlsym.c); RTLD_NEXT passed to them means: after this library.
 *
 * They are found in the symbol tables of the objects that follow this library in the loader's list,
 * because dlsym() would find the wrapper. */

/* One implementation; NULL where there is none. */
struct dl_functions {
    void *(*sym)(void *handle, const char *name);
    void *(*vsym)(void *handle, const char *name, const char *version);
};

/* libc's (libdl's before glibc 2.34): the tracer's own calls go to them. */
struct dl_functions libc_dlsyms(void);

/* The next ones after ours, which may be another preload's: the program's calls go to them. */
struct dl_functions next_dlsyms(void);

/* The next dlclose() and dlerror() after ours, which may be another preload's. NULL: none. */
int (*next_dlclose(void))(void *handle);
char *(*next_dlerror(void))(void);

/* Calls libc_dlsyms().sym, between loader_enter() and loader_leave(). NULL, too, where libc has
 * none. */
void *real_dlsym(void *handle, const char *name);

/* The object that `address` lies in, NULL: none; and our own. */
const struct link_map *object_of(const void *address);
const struct link_map *own_object(void);

/* ---- beside fork() ----
 *
 * Keeps fork() from running while a thread is in a call of the dynamic loader. The loader answers
 * them under locks of its own, and a fork() at such a moment leaves these locked in the child, for
 * good: its next dlopen() or dl_iterate_phdr() never returns. The tracer asks where an untraced
 * program does not, in a thread of its own, too. So whatever it asks is asked between
 * loader_enter() and loader_leave(), except what dlsym.c asks in place of a call of the program,
 * and fork() waits for the questions that are under way, at most FORK_PATIENCE_NS. */

#define FORK_PATIENCE_NS INT64_C(100000000)

/* In pairs, which may be nested. Where another thread forks just then, the outer loader_enter()
 * waits until fork() returns, FORK_PATIENCE_NS at most. */
void loader_enter(void);
void loader_leave(void);

/* dl_iterate_phdr() between the two. */
int loader_objects(int (*take)(struct dl_phdr_info *, size_t, void *), void *arg);

/* Makes fork() wait from here on. Called once a process. */
void loader_lock_begin(void);

/* ---- an error that waits ----
 *
 * An error of the dynamic loader that waits for the program's dlerror().
 *
 * Whatever is asked of the loader, also with success, takes away what waits there of an earlier
 * call of the same thread. So what the tracer asks in a thread of the program stands between
 *
 *     pending_begin();
 *     ...
 *     pending_end();
 *
 * The text is put aside, and an error of our own, which the loader gives up as it does any other
 * when the program goes on to call it, marks that the text is still wanted: our dlerror() then
 * answers with it. */

void pending_begin(void);
void pending_end(void);

/* The error that the program's dlerror() gives next, where the loader's own would name us. */
void pending_replace(const char *text);

/* ---- in the name of another object ----
 *
 * dlsym(RTLD_DEFAULT) searches the scope of the object that calls it, RTLD_NEXT searches after
 * that object, and the loader tells the caller by the return address. The scope of an object is
 * known to the loader alone: the global scope, then that of each dlopen() that brought the object.
 * So the question is asked with a return address inside the object: that of a `ret` instruction
 * there, from which the call comes back to us (as_caller_jump.S).
 *
 * The loader's answer is what it would have bound a reference of the object to, and it notes that
 * the object now depends on the library that holds it, as it does for a reference: the library
 * stays loaded as long as the object, and no longer. */

/* Calls dlsym(handle, name) of `functions`, or dlvsym(handle, name, version) where a version is
 * given, as the object that holds the code at `code`, NULL for the program itself. Puts the answer
 * into *found, NULL for none, and returns true. Returns false, and asks nothing, where the object
 * has no `ret` that serves, or the thread has a shadow stack, which allows a return to its caller
 * only.
 *
 * The signals of the thread are blocked (signal_block_begin()), because a handler would see a
 * return address of no call. The tracer's own questions are asked between loader_enter() and
 * loader_leave(). The code must stay loaded meanwhile: it is a place that a call has come from or
 * is going to. */
bool as_caller_ask(const struct dl_functions *functions, const void *code, void *handle,
                   const char *name, const char *version, void **found);

/* ---- signals meanwhile ----
 *
 * Blocks the signals of the calling thread, and its cancellation, while the tracer does what must
 * not be interrupted: a handler that jumped out of the dynamic loader would leave it locked.
 *
 *     struct signal_block blocked;
 *     signal_block_begin(&blocked);
 *     ...
 *     signal_block_end(&blocked);
 *
 * It costs two system calls, so it is for what happens once, not once a traced call. */

struct signal_block {
    sigset_t signals; /* as the program left them */
    int cancel_state;
};

static inline void signal_block_begin(struct signal_block *h)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &h->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h->cancel_state);
}

static inline void signal_block_end(const struct signal_block *h)
{
    int disabled;
    pthread_setcancelstate(h->cancel_state, &disabled);
    pthread_sigmask(SIG_SETMASK, &h->signals, NULL);
}

#endif

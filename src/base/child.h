/* SPDX-License-Identifier: MIT
 *
 * Runs a program as a child and hands its end back the way a shell does.
 *
 * The program sees what it would see without us: the same process group and terminal, the same
 * signal mask and dispositions. Meanwhile we ignore what the terminal sends to both of us (Ctrl-C
 * is the program's business) and pass on signals that are sent to us alone.
 *
 *     struct child_env env[] = {{"LD_PRELOAD", path}};
 *     int status = child_run(argv, env, 1, NULL, e);
 */
#ifndef SPECTER_BASE_CHILD_H
#define SPECTER_BASE_CHILD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Statuses as shells have them; CHILD_SIGNALLED + n: signal n ended it. */
enum { CHILD_NOT_EXECUTABLE = 126, CHILD_NOT_FOUND = 127, CHILD_SIGNALLED = 128 };

/* Set in the child only; borrowed. value NULL: left as it is. */
struct child_env {
    const char *name, *value;
};

/* Signals that reach the parent while the program runs. */
struct child_watch {
    /* Out: the last of SIGHUP, SIGINT, SIGQUIT and SIGTERM that came, from the terminal or to us;
     * 0: none. Signals that we ignore, as below nohup, are as if they had not come. */
    int ended_by;
    /* Called four times a second from such a signal on, for as long as the program lives: a
     * scheduler kills both of us some time after it. NULL: nothing to do. */
    void (*ending)(void *arg);
    void *arg;
};

/* argv[0] is looked up in PATH; argv ends with NULL. Returns the program's exit status, 128+n when
 * signal n ended it; with e filled (ERR_INPUT) when it could not be started: 127 not found, 126
 * found but not executable. `watch` may be NULL. */
int child_run(char **argv, const struct child_env *env, size_t nenv, struct child_watch *watch,
              struct err *e);

/* Where the program called `name` is: itself when it holds a slash, else the first file in PATH
 * that access() allows in the given mode, no folder but for F_OK. false when there is none, or its
 * path is longer than `size`. */
bool child_find(const char *name, int mode, char *path, size_t size);

/* Returns whether a process of this machine is there and may still act; a zombie does not. */
bool child_is_alive(int64_t pid);

/* ---- questions that may hang ----
 *
 * They are asked in a child process, because what answers may hang or crash: a GPU's
 * driver, ldconfig, an interpreter, a version manager. Nothing of the child is seen but its stdout,
 * and a crash leaves no core.
 *
 *     const char *const argv[] = {"python3", "-c", text, NULL};
 *     struct buf out = BUF_INIT;
 *     int status = ask_program(argv, 10, &out); */

#define ASK_LATE (-1) /* it took too long and was killed, or could not be started */

/* Runs work(arg) in a child whose stdout is appended to `out`. Its wait status, or ASK_LATE. */
int ask_child(void (*work)(void *arg), void *arg, double limit_s, struct buf *out);

/* The same of a program that is looked up in PATH; argv ends with NULL. */
int ask_program(const char *const *argv, double limit_s, struct buf *out);

#endif

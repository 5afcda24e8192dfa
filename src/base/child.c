/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals that would end or disturb us and are meant for the program. Stop signals are left alone:
 * parent and child stop and go on together. */
static const int watched[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};

/* The parent's signals as they were before; the child gets them back. */
struct signals {
    sigset_t mask;
    struct sigaction child;
};

static void signals_restore(const struct signals *before)
{
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Replaces the forked child; comes back only to report through `report` why that failed. */
static _Noreturn void child_exec(char **argv, const struct child_env *env, size_t nenv,
                                 const struct signals *before, int report)
{
    int why = 0;
    for (size_t i = 0; i < nenv && why == 0; i++) {
        if (env[i].value != NULL && setenv(env[i].name, env[i].value, 1) < 0)
            why = errno;
    }
    if (why == 0) {
        signals_restore(before);
        execvp(argv[0], argv);
        why = errno;
    }
    while (write(report, &why, sizeof why) < 0 && errno == EINTR)
        continue;
    _exit(CHILD_NOT_FOUND);
}

/* Waits for pid. Signals from the kernel (si_code > 0: the terminal) have reached the whole process
 * group already. Those from a process are passed on: a scheduler sends them to us alone. One that a
 * process sends to the whole group cannot be told from them, and reaches the program twice. */
static int wait_passing_signals(pid_t pid, const sigset_t *set, struct child_watch *watch)
{
    const struct timespec quarter = {0, 250000000};
    siginfo_t info;
    int status;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        bool ending = watch->ended_by != 0 && watch->ending != NULL;
        int signo = ending ? sigtimedwait(set, &info, &quarter) : sigwaitinfo(set, &info);
        if (signo > 0 && signo != SIGCHLD && info.si_code <= 0)
            kill(pid, signo);
        if (signo == SIGHUP || signo == SIGINT || signo == SIGQUIT || signo == SIGTERM)
            watch->ended_by = signo;
        if (ending && signo < 0 && errno == EAGAIN)
            watch->ending(watch->arg);
    }
    return WIFSIGNALED(status) ? CHILD_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reads the child's report from the pipe: an errno, or end of file once it has become the program.
 */
static int read_report(int fd)
{
    int why = 0;
    ssize_t n;
    do
        n = read(fd, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof why ? why : 0;
}

bool child_find(const char *name, int mode, char *path, size_t size)
{
    const char *folders = strchr(name, '/') != NULL ? "" : getenv("PATH");
    struct stat st;
    while (folders != NULL) {
        size_t len = strcspn(folders, ":");
        int n = snprintf(path, size, "%.*s%s%s", (int)len, folders, len > 0 ? "/" : "", name);
        if (n > 0 && (size_t)n < size && access(path, mode) == 0 &&
            (mode == F_OK || (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))))
            return true;
        folders = folders[len] == ':' ? folders + len + 1 : NULL;
    }
    return false;
}

/* A signal that is blocked is kept also where it is ignored: one that we ignore is not watched. */
static void watch_signals(sigset_t *set)
{
    struct sigaction had;
    sigemptyset(set);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        if (watched[i] == SIGCHLD || sigaction(watched[i], NULL, &had) < 0 ||
            had.sa_handler != SIG_IGN)
            sigaddset(set, watched[i]);
    }
}

int child_run(char **argv, const struct child_env *env, size_t nenv, struct child_watch *watch,
              struct err *e)
{
    struct child_watch unwatched = {0, NULL, NULL};
    struct signals before;
    sigset_t set;
    int report[2], why, status = 0;
    pid_t pid;
    if (watch == NULL)
        watch = &unwatched;
    watch->ended_by = 0;
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set(e, ERR_INPUT, "cannot start '%s': %s", argv[0], strerror(errno));
        return CHILD_NOT_EXECUTABLE;
    }
    /* Blocked and fetched one by one, not handled: no race between a signal and the wait. SIGCHLD
     * may have been inherited as ignored, and then there would be nothing to wait for. */
    struct sigaction usual = {.sa_handler = SIG_DFL};
    watch_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &before.mask);
    sigaction(SIGCHLD, &usual, &before.child);
    pid = fork();
    if (pid == 0)
        child_exec(argv, env, nenv, &before, report[1]);
    why = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        why = read_report(report[0]);
        status = wait_passing_signals(pid, &set, watch);
    }
    close(report[0]);
    signals_restore(&before);
    if (why == 0)
        return status;
    /* One folder in PATH that may not be searched makes execvp() say EACCES, though the program is
     * nowhere. */
    char path[PATH_MAX];
    if (why == ENOENT || (why == EACCES && !child_find(argv[0], F_OK, path, sizeof path)))
        why = ENOENT;
    err_set(e, ERR_INPUT, "cannot run '%s': %s", argv[0], strerror(why));
    return why == ENOENT ? CHILD_NOT_FOUND : CHILD_NOT_EXECUTABLE;
}

bool child_is_alive(int64_t pid)
{
    char path[64], text[512], *state;
    FILE *f;
    size_t len;
    if (kill((pid_t)pid, 0) < 0 && errno != EPERM)
        return false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    f = fopen(path, "r");
    if (f == NULL)
        return true;
    len = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[len] = '\0';
    state = strrchr(text, ')');
    return state == NULL || (state[1] == ' ' && state[2] != 'Z' && state[2] != 'X');
}

/* ---- questions that may hang ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until the end of what it says, or the deadline. */
static void listen_to(int fd, int64_t deadline, struct buf *out)
{
    struct pollfd p = {fd, POLLIN, 0};
    int64_t left;
    ssize_t n = 1;
    while (n > 0 && (left = deadline - now_ms()) > 0 && poll(&p, 1, (int)left) > 0) {
        n = read(fd, buf_reserve(out, 4096), 4096);
        out->len += n > 0 ? (size_t)n : 0;
        out->data[out->len] = '\0';
    }
}

/* A process that hangs in the kernel cannot be ended: it is left behind. */
static int end_of(pid_t pid, int64_t deadline)
{
    const struct timespec nap = {0, 1000000};
    int status;
    pid_t ended;
    for (int tries = 0; tries < 200; tries++) {
        ended = waitpid(pid, &status, WNOHANG);
        if (ended < 0)
            return 0; /* SIGCHLD is ignored here: how the child ended is not told */
        if (ended == pid)
            return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? ASK_LATE : status;
        if (now_ms() >= deadline)
            kill(pid, SIGKILL);
        else
            tries = 0;
        nanosleep(&nap, NULL);
    }
    return ASK_LATE;
}

int ask_child(void (*work)(void *arg), void *arg, double limit_s, struct buf *out)
{
    const struct rlimit none = {0, 0};
    int64_t deadline = now_ms() + (int64_t)(limit_s * 1000);
    int ends[2], null, status = ASK_LATE;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ASK_LATE;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        setrlimit(RLIMIT_CORE, &none);
        dup2(null, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        work(arg);
        _exit(0);
    }
    close(ends[1]);
    if (pid > 0) {
        listen_to(ends[0], deadline, out);
        status = end_of(pid, deadline);
    }
    close(ends[0]);
    return status;
}

static void become(void *argv)
{
    execvp(((char **)argv)[0], argv);
    _exit(127);
}

int ask_program(const char *const *argv, double limit_s, struct buf *out)
{
    return ask_child(become, (void *)argv, limit_s, out);
}

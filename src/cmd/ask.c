/* SPDX-License-Identifier: MIT */
#include "cmd/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* SPDX-License-Identifier: MIT */
#include "bench/launch.h"

#include "bench/place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIGNALLED 128
#define GRACE_S 10 /* to end by themselves, once it is over */

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};

struct local_job {
    int count, running, listener, port;
    pid_t *pids; /* owned; 0: has ended */
    char nonce[33];
    bool killing; /* those that run on are killed by us */
    int status;
    sigset_t before;
};

/* ---- start ---- */

static int make_nonce(struct local_job *j, struct err *e)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set(e, ERR_INPUT, "no random bytes: %s", strerror(errno));
    snprintf(j->nonce, sizeof j->nonce, "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    return 0;
}

/* Opened here and inherited by rank 0, so that no other program can take the port meanwhile. */
static int open_listener(struct local_job *j, struct err *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    j->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (j->listener < 0 || bind(j->listener, (struct sockaddr *)&at, size) != 0 ||
        listen(j->listener, j->count) != 0 ||
        getsockname(j->listener, (struct sockaddr *)&at, &size) != 0)
        return err_set(e, ERR_INPUT, "no port of 127.0.0.1 to listen on: %s", strerror(errno));
    j->port = ntohs(at.sin_port);
    return 0;
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* In the child. Only rank 0 keeps the listening socket. */
static _Noreturn void become_rank(const struct local_job *j, int rank, pid_t parent, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* it has ended before the line above */
    sigprocmask(SIG_SETMASK, &j->before, NULL);
    set_number("RANK", rank);
    set_number("WORLD_SIZE", j->count);
    set_number("LOCAL_RANK", rank);
    set_number("LOCAL_WORLD_SIZE", j->count);
    set_number("MASTER_PORT", j->port);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv(BENCH_ENV_NONCE, j->nonce, 1);
    unsetenv("TORCHELASTIC_RUN_ID");
    if (rank == 0) {
        fcntl(j->listener, F_SETFD, 0);
        set_number(BENCH_ENV_LISTEN, j->listener);
    }
    execv("/proc/self/exe", argv);
    fprintf(stderr, "specter: cannot start rank %d: %s\n", rank, strerror(errno));
    _exit(126);
}

static int start_all(struct local_job *j, char **argv, struct err *e)
{
    pid_t parent = getpid();
    for (int i = 0; i < j->count; i++) {
        j->pids[i] = fork();
        if (j->pids[i] == 0)
            become_rank(j, i, parent, argv);
        if (j->pids[i] < 0) {
            j->pids[i] = 0;
            return err_set(e, ERR_INPUT, "cannot start rank %d: %s", i, strerror(errno));
        }
        j->running++;
    }
    return 0;
}

/* ---- wait ---- */

static void signal_all(const struct local_job *j, int signal)
{
    for (int i = 0; i < j->count; i++) {
        if (j->pids[i] > 0)
            kill(j->pids[i], signal);
    }
}

/* Takes note of every process that has ended. Returns whether one of them failed. */
static bool reap(struct local_job *j)
{
    bool failed = false;
    for (int i = 0; i < j->count; i++) {
        bool caused; /* a killed process is why others fail, whichever is found first */
        int status;
        if (j->pids[i] == 0 || waitpid(j->pids[i], &status, WNOHANG) != j->pids[i])
            continue;
        j->pids[i] = 0;
        j->running--;
        status = WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
        caused = status > SIGNALLED && j->status < SIGNALLED && !j->killing;
        if (status != 0 && (j->status == 0 || caused))
            j->status = status;
        failed |= status != 0;
    }
    return failed;
}

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* The signals are blocked and fetched one by one. */
static void wait_all(struct local_job *j, const sigset_t *watched)
{
    time_t over = 0; /* when the processes were first asked to end, or one failed */
    while (j->running > 0) {
        const struct timespec tick = {1, 0};
        int signal = sigtimedwait(watched, NULL, &tick);
        bool failed = reap(j);
        if (signal > 0 && signal != SIGCHLD)
            signal_all(j, signal);
        if (over == 0 && (failed || (signal > 0 && signal != SIGCHLD)))
            over = now_s();
        if (over != 0 && now_s() - over > GRACE_S) {
            j->killing = true;
            signal_all(j, SIGKILL);
        }
    }
}

int bench_launch(int count, char **argv, struct err *e)
{
    struct local_job j = {.count = count, .listener = -1};
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t watched;
    int started;
    j.pids = calloc((size_t)count, sizeof *j.pids);
    if (j.pids == NULL)
        die("out of memory");
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&watched, passed_on[i]);
    sigaction(SIGCHLD, &usual, NULL); /* ignored ones leave nothing to wait for */
    sigprocmask(SIG_BLOCK, &watched, &j.before);
    started = make_nonce(&j, e) < 0 || open_listener(&j, e) < 0 ? -1 : start_all(&j, argv, e);
    if (started < 0)
        signal_all(&j, SIGKILL);
    wait_all(&j, &watched);
    if (j.listener >= 0)
        close(j.listener);
    sigprocmask(SIG_SETMASK, &j.before, NULL);
    free(j.pids);
    return started < 0 ? -1 : j.status;
}

/* SPDX-License-Identifier: MIT */
#include "bench/clocks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct watcher_request {
    char bus_id[BENCH_BUS_ID];
    int MHz;
};

struct watcher_answer {
    int code;
    char msg[256];
};

/* ---- the watcher ---- */

static void serve(const struct watcher_request *r, struct bench_clocks *c, struct watcher_answer *a)
{
    struct err e = {0};
    void *device = bench_nvml_device(r->bus_id, &e);
    *a = (struct watcher_answer){0};
    if (device == NULL || bench_nvml_lock(device, r->MHz, &e) < 0) {
        a->code = (int)e.code;
        snprintf(a->msg, sizeof a->msg, "%.255s", e.msg);
        return;
    }
    memcpy(c->locked[c->nlocked++], r->bus_id, sizeof r->bus_id);
}

static void reset_all(const struct bench_clocks *c)
{
    for (int i = 0; i < c->nlocked; i++) {
        void *device = bench_nvml_device(c->locked[i], NULL);
        if (device != NULL)
            bench_nvml_unlock(device, NULL);
    }
}

/* In a session of its own, so that no terminal and no signal to the job's group ends it. */
static _Noreturn void watch(int socket)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    struct bench_clocks c = {0};
    struct watcher_request r;
    struct watcher_answer a;
    setsid();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    while (recv(socket, &r, sizeof r, 0) == (ssize_t)sizeof r && c.nlocked < BENCH_WATCH_GPUS) {
        serve(&r, &c, &a);
        if (send(socket, &a, sizeof a, 0) != (ssize_t)sizeof a)
            break;
    }
    reset_all(&c);
    _exit(0);
}

/* ---- this process ---- */

int bench_clocks_start(struct bench_clocks *c, struct err *e)
{
    int ends[2];
    *c = (struct bench_clocks){0};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set(e, ERR_INPUT, "clocks cannot be watched: %s", strerror(errno));
    c->watcher = fork();
    if (c->watcher == 0) {
        close(ends[0]);
        watch(ends[1]);
    }
    close(ends[1]);
    c->socket = ends[0];
    if (c->watcher > 0)
        return 0;
    close(c->socket);
    *c = (struct bench_clocks){0};
    return err_set(e, ERR_INPUT, "no process to watch clocks: %s", strerror(errno));
}

int bench_clocks_lock(struct bench_clocks *c, const char *bus_id, int MHz, struct err *e)
{
    struct watcher_request r = {.MHz = MHz};
    struct watcher_answer a;
    snprintf(r.bus_id, sizeof r.bus_id, "%s", bus_id);
    if (c->nlocked == BENCH_WATCH_GPUS)
        return err_set(e, ERR_INPUT, "the clocks of more than %d GPUs cannot be locked",
                       BENCH_WATCH_GPUS);
    if (send(c->socket, &r, sizeof r, MSG_NOSIGNAL) != (ssize_t)sizeof r ||
        recv(c->socket, &a, sizeof a, 0) != (ssize_t)sizeof a)
        return err_set(e, ERR_INPUT, "the process that watches clocks has ended");
    if (a.code != 0)
        return err_set(e, ERR_INPUT, "%s", a.msg);
    memcpy(c->locked[c->nlocked++], r.bus_id, sizeof r.bus_id);
    return 0;
}

void bench_clocks_release(struct bench_clocks *c)
{
    int status = 0;
    pid_t ended;
    if (c->watcher <= 0)
        return;
    close(c->socket);
    do {
        ended = waitpid(c->watcher, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended != c->watcher || !WIFEXITED(status))
        reset_all(c);
    *c = (struct bench_clocks){0};
}

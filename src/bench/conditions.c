/* SPDX-License-Identifier: MIT */
#include "bench/state.h"

#include "base/now.h"
#include "base/opt.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
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

/* ---- clocks: the watcher ---- */

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
        struct err e = {0};
        void *device = bench_nvml_device(r.bus_id, &e);
        a = (struct watcher_answer){0};
        if (device != NULL && bench_nvml_lock(device, r.MHz, &e) == 0) {
            memcpy(c.locked[c.nlocked++], r.bus_id, sizeof r.bus_id);
        } else {
            a.code = (int)e.code;
            snprintf(a.msg, sizeof a.msg, "%.255s", e.msg);
        }
        if (send(socket, &a, sizeof a, 0) != (ssize_t)sizeof a)
            break;
    }
    reset_all(&c);
    _exit(0);
}

/* ---- clocks: this process ---- */

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

/* ---- warmth ---- */

#define SIDE_MAX 8192
#define SIDE_MIN 256
#define STEP_US 5e5
#define CALLS_MAX 4096

/* This rank's GPU. */
struct warm_gpu {
    struct bench_blas *blas; /* borrowed */
    void *device;            /* NVML's */
    void *begin, *end;       /* events; owned by the GPU */
    int celsius;             /* as of the last step */
    double spent_s;          /* of the GPU's time */
};

static void read_celsius(struct warm_gpu *g)
{
    struct bench_gpu_state s;
    bench_nvml_read(g->device, &s);
    g->celsius = s.celsius;
}

/* So many GEMMs, and what they took. */
static int run(struct warm_gpu *g, const struct bench_gemm_shape *s, int calls, double *us,
               struct err *e)
{
    struct bench_gpu *gpu = g->blas->gpu;
    if (bench_gpu_event(gpu, &g->begin, e) < 0)
        return -1;
    for (int i = 0; i < calls; i++) {
        if (bench_blas_gemm(g->blas, s, 0, 0, e) < 0)
            return -1;
    }
    if (bench_gpu_event(gpu, &g->end, e) < 0 || bench_gpu_wait(gpu, NULL, NULL, e) < 0)
        return -1;
    *us = bench_gpu_us(gpu, g->begin, g->end);
    return *us >= 0 ? 0 : err_set(e, ERR_INPUT, "the GPU tells no time of a GEMM");
}

/* GEMMs for about half a second. */
static int warm_step(struct warm_gpu *g, struct err *e)
{
    struct bench_gemm_shape s = {.type = &bench_gemm_types[0], .batch = 1, .w_trans = true};
    int64_t side = SIDE_MAX;
    double us = 0, spent = 0;
    do {
        s.m = s.n = s.k = side;
        side /= 2;
    } while (side >= SIDE_MIN && (bench_blas_operand_set(&s) > g->blas->operand_bytes ||
                                  bench_blas_result_set(&s) > g->blas->result_bytes));
    for (int calls = 1; spent < STEP_US;) {
        if (run(g, &s, calls, &us, e) < 0)
            return -1;
        spent += us;
        calls = us <= 0 || STEP_US / us * calls > CALLS_MAX ? CALLS_MAX
                                                            : (int)(STEP_US / us * calls) + 1;
        if (us <= 0)
            break;
    }
    g->spent_s += spent / 1e6;
    read_celsius(g);
    return 0;
}

int bench_warm(struct bench_warm *w, struct bench_ranks *ranks, struct err *e)
{
    struct bench_gpu *gpu = w->blas->gpu;
    struct warm_gpu g = {.blas = w->blas, .device = bench_nvml_device(gpu->bus_id, &w->unknown)};
    const double began_s = now_s();
    double without, lacks[2]; /* without, and lacks[0], the wish to go on: of any rank */
    bool done;
    int status;
    if (g.device != NULL)
        read_celsius(&g);
    if (g.device != NULL && g.celsius < 0)
        err_set(&w->unknown, ERR_INPUT, "NVML does not tell the temperature of GPU %s",
                gpu->bus_id);
    without = w->unknown.code != ERR_NONE;
    status = bench_ranks_max(ranks, &without, 1, e);
    done = g.celsius >= w->celsius;
    lacks[0] = 1;
    while (status == 0 && without <= 0 && lacks[0] > 0) {
        status = bench_ranks_agree(ranks, done ? 0 : warm_step(&g, e), e);
        done =
            g.celsius >= w->celsius || g.spent_s >= w->limit_s || now_s() - began_s >= w->limit_s;
        lacks[0] = !done;
        lacks[1] = g.celsius >= w->celsius ? 0 : w->celsius - g.celsius;
        if (status == 0)
            status = bench_ranks_max(ranks, lacks, 2, e);
        if (status == 0)
            w->lacks_K = lacks[1];
    }
    bench_gpu_forget_event(gpu, g.begin);
    bench_gpu_forget_event(gpu, g.end);
    return status;
}

/* ---- CPUs ---- */

/* Below /sys bus ids are in lower case, with a domain of four digits. */
static bool cpus_of_sys(const char *bus_id, cpu_set_t *out)
{
    char path[128], text[1024] = "", id[32];
    struct opt_list list = {0};
    const size_t len = strlen(bus_id), most = strlen("0000:1b:00.0");
    FILE *file;
    snprintf(id, sizeof id, "%s", len > most ? bus_id + (len - most) : bus_id);
    for (char *p = id; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", id);
    file = fopen(path, "re");
    CPU_ZERO(out);
    if (file == NULL)
        return false;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    if (opt_parse_list(path, text, &list, NULL) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            if (list.values[i] >= 0 && list.values[i] < CPU_SETSIZE)
                CPU_SET((size_t)list.values[i], out);
        }
    }
    free(list.values);
    return CPU_COUNT(out) > 0;
}

static void put_list(const cpu_set_t *cpus, char *text, size_t size)
{
    size_t len = 0;
    for (int i = 0, last; i < CPU_SETSIZE && len < size; i = last + 1) {
        last = i;
        if (!CPU_ISSET((size_t)i, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, cpus))
            last++;
        len += (size_t)snprintf(text + len, size - len, last > i ? "%s%d-%d" : "%s%d",
                                len > 0 ? "," : "", i, last);
    }
}

/* Libraries have made threads of their own already. */
static bool bind_threads(const cpu_set_t *cpus)
{
    DIR *tasks = opendir("/proc/self/task");
    bool bound = sched_setaffinity(0, sizeof *cpus, cpus) == 0;
    const struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        const int thread = atoi(entry->d_name);
        if (thread > 0)
            sched_setaffinity(thread, sizeof *cpus, cpus); /* it may have ended meanwhile */
    }
    if (tasks != NULL)
        closedir(tasks);
    return bound;
}

bool bench_numa_bind(const char *bus_id, int processes, char *cpus, size_t size)
{
    cpu_set_t nearest, allowed;
    cpus[0] = '\0';
    if (!bench_nvml_cpus(bench_nvml_device(bus_id, NULL), &nearest) &&
        !cpus_of_sys(bus_id, &nearest))
        return false;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    CPU_AND(&nearest, &nearest, &allowed);
    if (CPU_COUNT(&nearest) == 0 || CPU_COUNT(&nearest) < processes || !bind_threads(&nearest))
        return false;
    put_list(&nearest, cpus, size);
    return true;
}

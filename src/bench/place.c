/* SPDX-License-Identifier: MIT */
#include "bench/ranks.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/launcher.h"
#include "base/now.h"
#include "base/opt.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* Names of the job that all of its processes have alike. */
static const char *const job_names[] = {
    BENCH_ENV_NONCE,           "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID",
    "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE",      "PMI_JOBID",
};

/* ---- hosts ---- */

/* Copies the first name of a bracket, "07-09,12]rest" -> "07", and moves *list after the bracket.
 * false: the bracket is never closed or empty. */
static bool copy_first(const char **list, char *host, size_t size, size_t *used)
{
    const char *end = strchr(*list, ']');
    size_t digits = strspn(*list, "0123456789");
    if (end == NULL || digits == 0 || *used + digits >= size)
        return false;
    memcpy(host + *used, *list, digits);
    *used += digits;
    *list = end + 1;
    return true;
}

int bench_place_first_host(const char *list, char *host, size_t size)
{
    size_t used = 0;
    while (*list != '\0' && *list != ',') {
        unsigned char c = (unsigned char)*list++;
        if (c == '[') {
            if (!copy_first(&list, host, size, &used))
                return -1;
        } else if ((!isalnum(c) && c != '-' && c != '.' && c != '_') || used + 1 >= size) {
            return -1;
        } else {
            host[used++] = (char)c;
        }
    }
    host[used] = '\0';
    return used > 0 ? 0 : -1;
}

/* Rank 0's machine: as the environment names it, the first of Slurm's list, or this one. */
static int find_master(struct bench_place *p, struct err *e)
{
    const char *named = launcher_env("MASTER_ADDR"), *list = launcher_env("SLURM_STEP_NODELIST");
    if (list == NULL)
        list = launcher_env("SLURM_JOB_NODELIST");
    if (named == NULL && list != NULL && strcmp(p->launcher, "srun") == 0) {
        if (bench_place_first_host(list, p->master, sizeof p->master) == 0)
            return 0;
        return err_set(e, ERR_USAGE,
                       "the list of nodes '%s' is not understood: export MASTER_ADDR=HOST, the "
                       "machine of rank 0",
                       list);
    }
    if (named == NULL && p->world != p->local_world)
        return err_set(e, ERR_USAGE,
                       "where rank 0 runs is not known: export MASTER_ADDR=HOST, the machine of "
                       "rank 0, for every rank");
    if (named != NULL && strlen(named) >= sizeof p->master)
        return err_set(e, ERR_USAGE, "MASTER_ADDR: the name '%.40s' is too long", named);
    snprintf(p->master, sizeof p->master, "%s", named != NULL ? named : "127.0.0.1");
    return 0;
}

static int read_number(const char *name, int64_t least, int64_t most, int *value, struct err *e)
{
    int64_t number;
    if (opt_parse_i64(name, launcher_env(name), &number, e) < 0)
        return -1;
    if (number < least || number > most)
        return err_set(e, ERR_USAGE, "%s=%s is out of range", name, launcher_env(name));
    *value = (int)number;
    return 0;
}

/* ---- ranks ---- */

static int read_launcher(const struct launcher *l, struct bench_place *p, struct err *e)
{
    const int most = 1 << 24;
    if (launcher_env(l->world) == NULL)
        return err_set(e, ERR_USAGE, "%s is set and %s is not: export %s=N, the number of ranks",
                       l->rank, l->world, l->world);
    if (read_number(l->world, 1, most, &p->world, e) < 0 ||
        read_number(l->rank, 0, p->world - 1, &p->rank, e) < 0)
        return -1;
    if (launcher_env(l->local_rank) != NULL &&
        read_number(l->local_rank, 0, most, &p->local_rank, e) < 0)
        return -1;
    if (launcher_env(l->local_world) != NULL &&
        read_number(l->local_world, 1, most, &p->local_world, e) < 0)
        return -1;
    p->launched = true;
    p->launcher = launcher_env(BENCH_ENV_NONCE) != NULL ? "specter" : l->name;
    return 0;
}

/* Two hashes of the same names that begin differently. */
static void make_nonce(struct bench_place *p)
{
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t hash = hash_mix(HASH_BYTES + half, (uint64_t)p->world);
        for (size_t i = 0; i < sizeof job_names / sizeof *job_names; i++) {
            const char *value = launcher_env(job_names[i]);
            hash = hash_mix(hash, i);
            if (value != NULL)
                hash = hash_bytes(hash, value, strlen(value));
        }
        p->nonce[half] = hash_mix(hash, half);
    }
}

int bench_place_read(struct bench_place *place, struct err *e)
{
    *place = (struct bench_place){.world = 1, .launcher = "", .local_rank = -1, .local_world = -1};
    for (int i = LAUNCHER_TORCHRUN; i <= LAUNCHER_PMI && !place->launched; i++) {
        if (launcher_started(&launchers[i]) && read_launcher(&launchers[i], place, e) < 0)
            return -1;
    }
    make_nonce(place);
    if (!place->launched) {
        place->local_rank = 0;
        place->local_world = 1;
    }
    place->port = BENCH_PORT;
    if (launcher_env("MASTER_PORT") != NULL) {
        if (read_number("MASTER_PORT", 1, 65534, &place->port, e) < 0)
            return -1;
        /* torchrun's own store listens there while its processes run: ours listens on the next. */
        place->port += launcher_env("TORCHELASTIC_RUN_ID") != NULL;
    }
    return find_master(place, e);
}

/* ---- start of the ranks of one machine ---- */

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

static int random_nonce(struct local_job *j, struct err *e)
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

/* The signals are blocked and fetched one by one. */
static void wait_all(struct local_job *j, const sigset_t *watched)
{
    double over = 0; /* when the processes were first asked to end, or one failed */
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
    j.pids = array_new((size_t)count, sizeof *j.pids);
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&watched, passed_on[i]);
    sigaction(SIGCHLD, &usual, NULL); /* ignored ones leave nothing to wait for */
    sigprocmask(SIG_BLOCK, &watched, &j.before);
    started = random_nonce(&j, e) < 0 || open_listener(&j, e) < 0 ? -1 : start_all(&j, argv, e);
    if (started < 0)
        signal_all(&j, SIGKILL);
    wait_all(&j, &watched);
    if (j.listener >= 0)
        close(j.listener);
    sigprocmask(SIG_SETMASK, &j.before, NULL);
    free(j.pids);
    return started < 0 ? -1 : j.status;
}

/* SPDX-License-Identifier: MIT
 *
 * Where a process stands in its job, and what the ranks say to each other: processes of the test,
 * connected over 127.0.0.1.
 */
#include "bench/ranks.h"
#include "test.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the environment ---- */

static const char *const variables[] = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_LOCALID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_ID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    BENCH_ENV_NONCE,
    BENCH_ENV_LISTEN,
};

/* Only what `pairs` says, name and value in turn, a NULL behind. */
static void set_environment(const char *const *pairs)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    for (; pairs[0] != NULL; pairs += 2)
        setenv(pairs[0], pairs[1], 1);
}

TEST(bench_place_of_launchers)
{
    static const struct {
        const char *pairs[17];
        const char *launcher, *master;
        int rank, world, local_rank, local_world, port;
    } cases[] = {
        {{NULL}, "", "127.0.0.1", 0, 1, 0, 1, 29500},
        {{"RANK", "3", "WORLD_SIZE", "8", "LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "2", "MASTER_ADDR",
          "gpu1", "MASTER_PORT", "1234", NULL},
         "torchrun",
         "gpu1",
         3,
         8,
         1,
         2,
         1234},
        {{"RANK", "1", "WORLD_SIZE", "2", "MASTER_ADDR", "gpu1", "MASTER_PORT", "1234",
          "TORCHELASTIC_RUN_ID", "x", NULL},
         "torchrun",
         "gpu1",
         1,
         2,
         -1,
         -1,
         1235},
        {{"SLURM_PROCID", "5", "SLURM_STEP_NUM_TASKS", "8", "SLURM_LOCALID", "1", "SLURM_STEP_ID",
          "0", "SLURM_STEP_NODELIST", "nid[001234-001237,002000]", NULL},
         "srun",
         "nid001234",
         5,
         8,
         1,
         -1,
         29500},
        /* A batch script, which is no task of a step. */
        {{"SLURM_PROCID", "0", "SLURM_JOB_NODELIST", "a[1-2]", NULL},
         "",
         "127.0.0.1",
         0,
         1,
         0,
         1,
         29500},
        {{"OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_LOCAL_RANK",
          "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "4", NULL},
         "mpirun",
         "127.0.0.1",
         1,
         4,
         1,
         4,
         29500},
        /* mpirun of Open MPI, then of others, in a shell that srun has started. */
        {{"SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", "SLURM_LOCALID", "0", "SLURM_STEP_ID",
          "0", "OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4",
          "OMPI_COMM_WORLD_LOCAL_RANK", "3", "OMPI_COMM_WORLD_LOCAL_SIZE", "4", NULL},
         "mpirun",
         "127.0.0.1",
         3,
         4,
         3,
         4,
         29500},
        {{"SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", "SLURM_LOCALID", "0", "SLURM_STEP_ID",
          "0", "PMI_RANK", "2", "PMI_SIZE", "4", "MPI_LOCALRANKID", "2", "MPI_LOCALNRANKS", "4",
          NULL},
         "MPI",
         "127.0.0.1",
         2,
         4,
         2,
         4,
         29500},
        /* srun --mpi=pmi2. */
        {{"SLURM_PROCID", "5", "SLURM_STEP_NUM_TASKS", "8", "SLURM_LOCALID", "1", "SLURM_STEP_ID",
          "0", "SLURM_STEP_NODELIST", "n1,n2", "PMI_RANK", "5", "PMI_SIZE", "8", NULL},
         "srun",
         "n1",
         5,
         8,
         1,
         -1,
         29500},
        {{"PMI_RANK", "1", "PMI_SIZE", "2", "MASTER_ADDR", "10.0.0.1", NULL},
         "MPI",
         "10.0.0.1",
         1,
         2,
         -1,
         -1,
         29500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_place p;
        struct err e = {0};
        set_environment(cases[i].pairs);
        CHECK_INT(bench_place_read(&p, &e), 0);
        CHECK_STR(e.msg, "");
        CHECK_STR(p.launcher, cases[i].launcher);
        CHECK_STR(p.master, cases[i].master);
        CHECK_INT(p.rank, cases[i].rank);
        CHECK_INT(p.world, cases[i].world);
        CHECK_INT(p.local_rank, cases[i].local_rank);
        CHECK_INT(p.local_world, cases[i].local_world);
        CHECK_INT(p.port, cases[i].port);
    }
    set_environment((const char *const[]){NULL});
}

TEST(bench_place_says_what_is_missing)
{
    static const struct {
        const char *pairs[9];
        const char *text;
    } cases[] = {
        {{"RANK", "1", NULL}, "export WORLD_SIZE=N"},
        {{"RANK", "4", "WORLD_SIZE", "4", NULL}, "RANK=4 is out of range"},
        {{"RANK", "x", "WORLD_SIZE", "4", NULL}, "RANK"},
        {{"RANK", "1", "WORLD_SIZE", "4", NULL}, "export MASTER_ADDR=HOST"},
        {{"OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_LOCAL_SIZE",
          "2", NULL},
         "export MASTER_ADDR=HOST"},
        {{"RANK", "0", "WORLD_SIZE", "1", "MASTER_PORT", "70000", NULL}, "MASTER_PORT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_place p;
        struct err e = {0};
        set_environment(cases[i].pairs);
        CHECK_INT(bench_place_read(&p, &e), -1);
        CHECK_HAS(e.msg, cases[i].text);
        CHECK_INT(e.code, ERR_USAGE);
    }
    set_environment((const char *const[]){NULL});
}

TEST(bench_place_first_host_of_slurm)
{
    static const struct {
        const char *list, *host;
    } cases[] = {
        {"n1", "n1"},
        {"n1,n2", "n1"},
        {"gpu[07-09,12],login1", "gpu07"},
        {"r[1-2]n[3,4]", "r1n3"},
        {"a[2]-ib,b", "a2-ib"},
        {"n[1", NULL},
        {"n[]", NULL},
        {"", NULL},
        {"bad name", NULL},
    };
    char host[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = bench_place_first_host(cases[i].list, host, sizeof host);
        CHECK_INT(status, cases[i].host != NULL ? 0 : -1);
        if (cases[i].host != NULL)
            CHECK_STR(host, cases[i].host);
    }
    CHECK_INT(bench_place_first_host("a-name-that-is-too-long", host, sizeof host), -1);
}

/* ---- ranks ---- */

/* Stands in for libc's: the addresses of the name "list:A,B" are A and B. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    struct addrinfo **end = list;
    char names[128];
    int error = 0;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node == NULL || strncmp(node, "list:", 5) != 0)
        return real(node, service, hints, list);
    snprintf(names, sizeof names, "%s", node + 5);
    for (char *name = strtok(names, ","); name != NULL && error == 0; name = strtok(NULL, ",")) {
        error = real(name, service, hints, end);
        while (error == 0 && *end != NULL)
            end = &(*end)->ai_next;
    }
    return error;
}

/* A port that is free now. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&at, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

static struct bench_place place_of(int rank, int world, int port)
{
    struct bench_place p = {.rank = rank, .world = world, .master = "127.0.0.1", .port = port};
    p.nonce[0] = 1;
    p.nonce[1] = 2;
    return p;
}

/* The work of a rank once it has joined; returns its exit status. */
typedef int behaviour(struct bench_ranks *r, int rank);

static pid_t start_rank_within(double timeout_s, int rank, int world, int port, behaviour *sync)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct bench_place p = place_of(rank, world, port);
        struct err e = {0};
        struct bench_ranks *r;
        int status = bench_ranks_join(&p, timeout_s, &r, &e) == 0 ? sync(r, rank) : 99;
        bench_ranks_leave(r);
        _exit(status);
    }
    return pid;
}

static pid_t start_rank(int rank, int world, int port, behaviour *sync)
{
    return start_rank_within(10, rank, world, port, sync);
}

static int end_of(pid_t pid)
{
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int exchange(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    int64_t mine = 100 + rank, all[3] = {0}, first = rank == 0 ? 7 : 0;
    double values[2] = {rank, -rank};
    for (int i = 0; i < 100; i++) {
        if (bench_ranks_gather(r, &mine, sizeof mine, all, &e) < 0)
            return 1;
    }
    if (all[0] != 100 || all[1] != 101 || all[2] != 102)
        return 2;
    if (bench_ranks_from_first(r, &first, sizeof first, &e) < 0 || first != 7)
        return 3;
    if (bench_ranks_check(r, &e) < 0) /* no rank leaves before the exchange below */
        return 4;
    return bench_ranks_max(r, values, 2, &e) == 0 && values[0] == 2 && values[1] == 0 ? 0 : 5;
}

TEST(bench_ranks_exchange)
{
    int port = free_port();
    pid_t pids[3];
    for (int i = 2; i >= 0; i--) /* rank 0 last: the others try again */
        pids[i] = start_rank(i, 3, port, exchange);
    for (int i = 0; i < 3; i++)
        CHECK_INT(end_of(pids[i]), 0);
}

/* Rank 2 cannot go on; all others learn its number and its words. */
static int one_fails(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    char byte = 0, all[3];
    if (rank == 2) {
        err_set(&e, ERR_INPUT, "no memory");
        bench_ranks_fail(r, &e);
        return bench_ranks_gather(r, &byte, 1, all, &e) < 0 ? 0 : 1;
    }
    if (bench_ranks_gather(r, &byte, 1, all, &e) == 0)
        return 2;
    if (strcmp(e.msg, "rank 2: no memory") != 0)
        return 3;
    return bench_ranks_check(r, &e) < 0 ? 0 : 4;
}

TEST(bench_ranks_learn_a_failure)
{
    int port = free_port();
    pid_t pids[3];
    for (int i = 0; i < 3; i++)
        pids[i] = start_rank(i, 3, port, one_fails);
    for (int i = 0; i < 3; i++)
        CHECK_INT(end_of(pids[i]), 0);
}

static int one_ends(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    char byte = 0, all[3];
    if (rank == 1)
        _exit(0);
    while (bench_ranks_check(r, &e) == 0 && bench_ranks_gather(r, &byte, 1, all, &e) == 0) {
    }
    return strcmp(e.msg, "rank 1 ended before the benchmark did") == 0 ? 0 : 1;
}

TEST(bench_ranks_learn_an_end)
{
    int port = free_port();
    pid_t pids[3];
    for (int i = 0; i < 3; i++)
        pids[i] = start_rank(i, 3, port, one_ends);
    for (int i = 0; i < 3; i++)
        CHECK_INT(end_of(pids[i]), 0);
}

/* One rank's status counts for all, and the exchange goes on after it. */
static int agree(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    if (bench_ranks_agree(r, rank > 0 ? err_set(&e, ERR_INPUT, "refused by %d", rank) : 0, &e) == 0)
        return 1;
    if (strcmp(e.msg, "rank 1: refused by 1") != 0)
        return 2;
    return bench_ranks_agree(r, 0, &e) == 0 ? 0 : 3; /* it was no end of the job */
}

TEST(bench_ranks_agree_on_a_status)
{
    int port = free_port();
    pid_t pids[3];
    for (int i = 0; i < 3; i++)
        pids[i] = start_rank(i, 3, port, agree);
    for (int i = 0; i < 3; i++)
        CHECK_INT(end_of(pids[i]), 0);
}

/* A stranger, a rank of another job and one that was there already do not count. */
TEST(bench_ranks_turn_strangers_away)
{
    int port = free_port();
    struct bench_place p = place_of(0, 2, port), other = place_of(1, 2, port);
    struct bench_ranks *r;
    struct err e = {0};
    pid_t stranger = fork(), foreign;
    if (stranger == 0) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        for (int i = 0; i < 50; i++) {
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                write(fd, "GET / HTTP/1.0\r\n\r\n and more than a message's first bytes\r\n\r\n",
                      60) == 60)
                _exit(0);
            close(fd);
            usleep(20000);
        }
        _exit(1);
    }
    foreign = fork();
    if (foreign == 0) {
        struct err own = {0};
        other.nonce[0] = 3;
        _exit(bench_ranks_join(&other, 3, &r, &own) < 0 ? 0 : 1);
    }
    CHECK_INT(bench_ranks_join(&p, 1.5, &r, &e), -1);
    bench_ranks_leave(r);
    CHECK_STR(e.msg, "rank 1 did not come within 1.5 s");
    CHECK_INT(end_of(stranger), 0);
    CHECK_INT(end_of(foreign), 0);
}

/* Rank 0 listens where another node reaches it, here by 127.0.0.1: not on a loopback address where
 * there is another, nor on one that is not this machine's. */
TEST(bench_ranks_listen_where_others_reach)
{
    static const char *const masters[] = {"list:127.0.1.1,0.0.0.0", "list:192.0.2.1,127.0.0.1"};
    for (size_t i = 0; i < sizeof masters / sizeof *masters; i++) {
        int port = free_port();
        struct bench_place p = place_of(0, 3, port);
        struct bench_ranks *r;
        struct err e = {0};
        pid_t pids[2];
        for (int k = 0; k < 2; k++)
            pids[k] = start_rank(k + 1, 3, port, exchange);
        snprintf(p.master, sizeof p.master, "%s", masters[i]);
        CHECK_INT(bench_ranks_join(&p, 10, &r, &e), 0);
        CHECK_STR(e.msg, "");
        CHECK_INT(exchange(r, 0), 0);
        for (int k = 0; k < 2; k++)
            CHECK_INT(end_of(pids[k]), 0);
        bench_ranks_leave(r);
    }
}

/* One rank does not come: rank 0 names it, and the one that came says nothing itself. */
TEST(bench_ranks_learn_who_did_not_come)
{
    int port = free_port();
    struct bench_place p = place_of(0, 3, port);
    struct bench_ranks *r;
    struct err e = {0};
    pid_t came = fork();
    if (came == 0) {
        struct bench_place own = place_of(1, 3, port);
        bool right = bench_ranks_join(&own, 10, &r, &e) < 0 && bench_ranks_silent(r) &&
                     strcmp(e.msg, "rank 2 did not come within 1 s") == 0;
        bench_ranks_leave(r);
        _exit(right ? 0 : 1);
    }
    CHECK_INT(bench_ranks_join(&p, 1, &r, &e), -1);
    CHECK(!bench_ranks_silent(r));
    CHECK_STR(e.msg, "rank 2 did not come within 1 s");
    bench_ranks_leave(r);
    CHECK_INT(end_of(came), 0);
}

/* Waits as for a device, of which nothing more is heard. */
static bool waits_for_device(struct bench_ranks *r, bool blocked, struct err *e)
{
    for (int i = 0; i < 50; i++) {
        if (bench_ranks_check(r, e) < 0)
            return false;
        usleep(10000);
    }
    if (blocked)
        bench_ranks_blocked(r, e);
    return !blocked;
}

/* Rank 1 and 3 wait for rank 2, which hangs; rank 0 is at the next exchange. */
static int one_hangs(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    char byte = 0, all[4];
    if (rank == 2)
        pause();
    if (rank == 0)
        bench_ranks_gather(r, &byte, 1, all, &e);
    else
        while (waits_for_device(r, rank == 1, &e)) {
        }
    return strcmp(e.msg, "rank 2 did not answer within 2 s") == 0 &&
                   bench_ranks_silent(r) == (rank != 0)
               ? 0
               : 1;
}

/* Rank 1 goes on when the others have given it up, and learns why; rank 0 has said it. */
static int one_wakes(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    char byte = 0, all[4];
    if (rank == 1)
        sleep(6); /* 2 s, and as long to answer the question who is there */
    bench_ranks_gather(r, &byte, 1, all, &e);
    return strcmp(e.msg, "rank 1 did not answer within 2 s") == 0 &&
                   bench_ranks_silent(r) == (rank != 0)
               ? 0
               : 1;
}

/* Rank 0 hangs: of the others one says so. */
static int first_hangs(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    if (rank == 0)
        pause();
    waits_for_device(r, true, &e);
    return strcmp(e.msg, "rank 0 did not answer within 2 s") == 0 &&
                   bench_ranks_silent(r) == (rank != 1)
               ? 0
               : 1;
}

/* Calls of all do not end, and all ranks are there. */
static int all_are_blocked(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    while (waits_for_device(r, rank == 1, &e)) {
    }
    return strcmp(e.msg, "calls did not end within 2 s, though all ranks answer") == 0 ? 0 : 1;
}

/* Rank 3 does not return from a call that rank 1 has behind it; ranks 0 and 2 wait for the device.
 */
static int one_is_behind(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    for (int i = 0; i <= rank % 3; i++)
        bench_ranks_in_call(r, rank == 1 || rank == 3 ? "AllReduce" : NULL);
    while (waits_for_device(r, rank == 1, &e)) {
    }
    return strcmp(e.msg, "rank 3 did not return from AllReduce within 2 s") == 0 ? 0 : 1;
}

static int all_are_in_a_call(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    bench_ranks_in_call(r, "ncclCommInitRank");
    while (waits_for_device(r, rank == 2, &e)) {
    }
    return strcmp(e.msg,
                  "ncclCommInitRank did not return within 2 s, though all ranks are in it") == 0
               ? 0
               : 1;
}

/* Rank 0's exchange waits for longer than the timeout for a device that is at work. */
static int one_is_slow(struct bench_ranks *r, int rank)
{
    struct err e = {0};
    char byte = 0, all[4];
    for (int i = 0; i < 6 && rank == 1; i++)
        waits_for_device(r, false, &e);
    return bench_ranks_gather(r, &byte, 1, all, &e) == 0 ? 0 : 1;
}

TEST(bench_ranks_find_who_hangs)
{
    static const struct {
        behaviour *sync;
        int hangs;
    } cases[] = {{one_hangs, 2},      {first_hangs, 0},        {all_are_blocked, -1},
                 {one_is_behind, -1}, {all_are_in_a_call, -1}, {one_is_slow, -1},
                 {one_wakes, -1}};
    pid_t pids[sizeof cases / sizeof *cases][4];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) { /* all at once: they only wait */
        int port = free_port();
        for (int i = 0; i < 4; i++)
            pids[k][i] = start_rank_within(2, i, 4, port, cases[k].sync);
    }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int i = 0; i < 4; i++) {
            if (i != cases[k].hangs)
                CHECK_INT(end_of(pids[k][i]), 0);
        }
        if (cases[k].hangs >= 0) {
            kill(pids[k][cases[k].hangs], SIGKILL);
            CHECK_INT(end_of(pids[k][cases[k].hangs]), 128 + SIGKILL);
        }
    }
}

TEST(bench_ranks_of_one)
{
    struct bench_place p = place_of(0, 1, 0);
    struct err e = {0};
    int mine = 5, all = 0;
    struct bench_ranks *r;
    CHECK_INT(bench_ranks_join(&p, 1, &r, &e), 0);
    CHECK_INT(bench_ranks_gather(r, &mine, sizeof mine, &all, &e), 0);
    CHECK_INT(all, 5);
    CHECK_INT(bench_ranks_agree(r, err_set(&e, ERR_INPUT, "no"), &e), -1);
    CHECK_STR(e.msg, "no");
    bench_ranks_leave(r);
}

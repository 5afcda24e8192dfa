/* SPDX-License-Identifier: MIT */
#include "cmd/bench.h"

#include "base/arena.h"
#include "bench/gpu.h"
#include "bench/ranks.h"
#include "calib/measured.h"
#include "cmd/predict.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_NAME 64
#define USUAL_PROCESSES 2 /* without GPUs */

static volatile sig_atomic_t asked_to_stop;

static void on_signal(int signal)
{
    (void)signal;
    asked_to_stop = 1;
}

bool bench_job_stop(void)
{
    return asked_to_stop != 0;
}

int bench_check_range(const char *option, int64_t value, int64_t least, int64_t most, struct err *e)
{
    if (value >= least && value <= most)
        return 0;
    return err_set(e, ERR_USAGE, "%s: %lld is out of range: %lld to %lld", option, (long long)value,
                   (long long)least, (long long)most);
}

static bool is_in(const char *list, enum specter_comm_op op)
{
    char name[64];
    for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
        list += strspn(list, " ");
        len = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)len, list);
        if (measured_op(name) == op)
            return true;
    }
    return false;
}

int bench_ops_parse(const char *list, const char *known, enum specter_comm_op *ops, size_t max,
                    size_t *n, struct err *e)
{
    char name[64];
    *n = 0;
    for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
        enum specter_comm_op op;
        len = strcspn(list, ",");
        if (len == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", len < sizeof name ? (int)len : (int)sizeof name, list);
        op = measured_op(name);
        if (op == SPECTER_COMM_OP_COUNT || !is_in(known, op))
            return err_set(e, ERR_USAGE, "--op: unknown operation '%s'; known are %s", name, known);
        if (*n == max)
            return err_set(e, ERR_USAGE, "--op: more than %zu operations", max);
        ops[(*n)++] = op;
    }
    return *n > 0 ? 0 : err_set(e, ERR_USAGE, "--op: no operation is named");
}

int bench_sizes_parse(const char *text, double factor, uint64_t **sizes, size_t *n, struct err *e)
{
    struct predict_sizes s;
    size_t count = 0;
    if (predict_sizes_parse(text, factor, (struct opt_bytes){0}, &s, e) < 0)
        return -1;
    for (uint64_t b = s.first; b <= s.last; b = predict_sizes_next(&s, b))
        count++;
    *sizes = array_new(count, sizeof **sizes);
    *n = 0;
    for (uint64_t b = s.first; *n < count; b = predict_sizes_next(&s, b))
        (*sizes)[(*n)++] = b;
    return 0;
}

int bench_job_check(struct bench_job *j, struct err *e)
{
    const struct bench_job_opts *o = &j->opts;
    j->backend = bench_backend_find(o->backend, e);
    if (j->backend == NULL ||
        (o->port != BENCH_NO_NUMBER && bench_check_range("--port", o->port, 1, 65535, e) < 0) ||
        (o->gpus != BENCH_NO_NUMBER && bench_check_range("--gpus", o->gpus, 1, 1024, e) < 0))
        return -1;
    if (!(o->timeout > 0 && o->timeout < 1e6))
        return err_set(e, ERR_USAGE, "--timeout: out of range");
    return bench_place_read(&j->place, e);
}

/* ---- start ---- */

/* Those that this process sees; 0 with e filled. */
static int count_gpus(const struct bench_job *j, struct err *e)
{
    struct err why = {0};
    char gloo[4200];
    int count = bench_gpu_count(&why);
    if (count < 1)
        err_set(e, why.code, "%s%s", why.msg,
                !j->gpus_only && bench_module_find("gloo", gloo, sizeof gloo)
                    ? ": --backend gloo measures without a GPU"
                    : "");
    return count;
}

/* Number of processes to start here; 1: none, this one is a rank. 0 with e filled. */
static int count_processes(const struct bench_job *j, const char *kind, struct err *e)
{
    const char *launcher = j->backend->launcher;
    int count = j->opts.gpus != BENCH_NO_NUMBER ? (int)j->opts.gpus : 0;
    if (j->place.world > 1 || (launcher != NULL && j->place.launched))
        return 1;
    if (count == 0)
        count = j->backend->enqueues ? count_gpus(j, e) : USUAL_PROCESSES;
    if (launcher == NULL)
        return count;
    err_set(e, ERR_USAGE,
            "processes of %s are started by %s: %s -n %d specter bench %s --backend %s ...",
            j->opts.backend, launcher, launcher, count, kind, j->opts.backend);
    return 0;
}

int bench_job_run(struct bench_job *j, const char *kind, int argc, char **argv,
                  int (*rank)(void *arg, struct err *e), struct err *e)
{
    char program[] = "specter", command[] = "bench", name[32];
    char **again;
    int status, count = count_processes(j, kind, e);
    if (count == 1)
        return rank(j->arg, e);
    if (count < 1)
        return (int)e->code;
    /* The command line again, `count` times. Parsing took argv[0], the kind, and nothing else. */
    again = array_new((size_t)argc + 3, sizeof *again);
    snprintf(name, sizeof name, "%s", kind);
    memcpy(again + 2, argv, (size_t)argc * sizeof *argv);
    again[0] = program;
    again[1] = command;
    again[2] = name;
    status = bench_launch(count, again, e);
    free(again);
    return status < 0 ? (int)e->code : status;
}

/* ---- places ---- */

/* A rank's place, as it tells the others. */
struct whereabouts {
    char host[HOST_NAME];
    int local_rank; /* -1: its launcher did not say */
};

/* A node is a host; or, where launchers put several nodes on one, as many as there are ranks 0 of a
 * node. */
static void count_nodes(struct bench_job *j, const struct whereabouts *all)
{
    int firsts = 0, last = 0;
    for (int i = 0; i < j->place.world; i++) {
        j->node_of[i] = (int)bench_host_add(&j->result, j->run, all[i].host, strlen(all[i].host));
        firsts += all[i].local_rank == 0;
        j->members.neighbours += strcmp(all[i].host, all[j->place.rank].host) == 0;
        last = all[i].local_rank > last ? all[i].local_rank : last;
    }
    j->nodes = firsts > (int)j->run->nhosts ? firsts : (int)j->run->nhosts;
    j->per_node = (j->place.world + j->nodes - 1) / j->nodes;
    j->per_node = last + 1 > j->per_node ? last + 1 : j->per_node;
    firsts = 0;
    for (int i = 0; i < j->place.world && j->nodes > (int)j->run->nhosts; i++) {
        firsts += all[i].local_rank == 0;
        j->node_of[i] = firsts > 0 ? firsts - 1 : 0;
    }
}

/* The job's nodes, and this rank's place on its own: as the launcher has it, else by host names. */
static int find_nodes(struct bench_job *j, struct err *e)
{
    const int rank = j->place.rank;
    struct whereabouts mine = {.local_rank = j->place.local_rank}, *all;
    int status;
    all = array_new((size_t)j->place.world, sizeof *all);
    j->node_of = array_new((size_t)j->place.world, sizeof *j->node_of);
    gethostname(mine.host, sizeof mine.host - 1);
    status = bench_ranks_gather(j->ranks, &mine, sizeof mine, all, e);
    if (status == 0) {
        count_nodes(j, all);
        j->node_index = 0;
        for (int i = 0; i < rank; i++)
            j->node_index += strcmp(all[i].host, all[rank].host) == 0;
        if (all[rank].local_rank >= 0)
            j->node_index = all[rank].local_rank;
    }
    free(all);
    return status;
}

/* A call of the library cannot end: what was measured is kept, and this process ends here. */
static void give_up(void *arg, const struct err *e)
{
    struct bench_job *j = arg;
    struct err own = {0};
    if (j->place.rank == 0) {
        if (j->keep != NULL && j->keep(j->arg, &own) < 0)
            fprintf(stderr, "specter: %s\n", own.msg);
        fprintf(stderr, "specter: %s\n", e->msg);
        fflush(stdout);
    } else {
        bench_ranks_fail(j->ranks, e);
        if (!bench_ranks_silent(j->ranks))
            fprintf(stderr, "specter: %s\n", e->msg);
        /* Launchers kill all as soon as one has ended: rank 0 writes its files first. */
        sleep(1);
    }
    _exit((int)e->code);
}

int bench_job_begin(struct bench_job *j, struct err *e)
{
    /* Without SA_RESTART: a write to a launcher that reads no more would never end. */
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    bench_result_init(&j->result);
    j->run = bench_run_add(&j->result);
    if (j->opts.port != BENCH_NO_NUMBER)
        j->place.port = (int)j->opts.port;
    if (bench_ranks_join(&j->place, j->opts.timeout, &j->ranks, e) < 0)
        return -1;
    j->members = (struct bench_members){.ranks = j->ranks,
                                        .world = j->place.world,
                                        .rank = j->place.rank,
                                        .size = j->place.world,
                                        .member = j->place.rank,
                                        .lib = j->opts.lib,
                                        .timeout_s = j->opts.timeout};
    j->members.calls = j->calls = bench_calls_start(j->ranks, j->opts.timeout, give_up, j, e);
    if (bench_ranks_agree(j->ranks, j->calls != NULL ? 0 : -1, e) < 0 || find_nodes(j, e) < 0)
        return -1;
    if (j->backend->enqueues) {
        int seen = count_gpus(j, e);
        j->members.device = seen > 0 ? j->node_index % seen : 0;
        return bench_ranks_agree(j->ranks, seen > 0 ? 0 : -1, e);
    }
    return 0;
}

int bench_job_in_conditions(struct bench_job *j, struct bench_conditions *c, const char *output,
                            int (*measure)(void *arg, struct err *e), void *arg, struct err *e)
{
    const struct bench_conditions_where where = {.ranks = j->ranks,
                                                 .world = j->place.world,
                                                 .rank = j->place.rank,
                                                 .node_index = j->node_index,
                                                 .device = j->members.device,
                                                 .output = output};
    struct err own = {0};
    int status;
    if (!j->backend->enqueues)
        return measure(arg, e);
    status = bench_conditions_begin(c, &where, e);
    if (status == 0)
        status = bench_conditions_warm(c, &where, e);
    if (status == 0)
        status = bench_conditions_watch(c, &where, e);
    if (status == 0)
        status = measure(arg, e);
    if (bench_conditions_end(c, &where, status == 0 ? j->ranks : NULL, &own) < 0 && status == 0) {
        *e = own;
        status = -1;
    }
    return status;
}

int bench_job_end(struct bench_job *j, int status, struct err *e)
{
    struct err others = {0};
    if (e->code != ERR_NONE && j->place.rank != 0)
        bench_ranks_fail(j->ranks, e);
    if (j->ranks != NULL && bench_ranks_agree(j->ranks, 0, &others) < 0 && e->code == ERR_NONE &&
        j->place.rank == 0) {
        *e = others;
        status = others.code;
    }
    if (bench_ranks_silent(j->ranks))
        e->code = ERR_NONE;
    bench_calls_stop(j->calls);
    bench_ranks_leave(j->ranks);
    j->calls = NULL;
    j->ranks = NULL;
    free(j->node_of);
    bench_result_release(&j->result);
    return status;
}

/* ---- what is known of the run ---- */

extern char **environ;

/* Records the settings that change a library's choices. */
static void add_settings(struct bench_job *j)
{
    static const char *const prefixes[] = {"NCCL_", "RCCL_", "GLOO_", "OMPI_MCA_", "UCX_"};
    for (char **entry = environ; *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && equals != NULL; i++) {
            if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0)
                bench_setting_add(
                    &j->result, j->run,
                    arena_strndup(&j->result.arena, *entry, (size_t)(equals - *entry)), equals + 1);
        }
    }
}

static void add_number(struct bench_job *j, const char *name, int value)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d", value / 1000, value % 1000 / 10);
    if (value > 0)
        bench_setting_add(&j->result, j->run, name, text);
}

int bench_job_open(struct bench_job *j, struct bench_communicator *on, struct err *e)
{
    *on = (struct bench_communicator){.backend = j->backend,
                                      .ranks = j->ranks,
                                      .world = j->place.world,
                                      .member = j->place.rank,
                                      .where = {j->place.world, j->nodes, j->per_node}};
    if (j->backend->open(&j->members, &on->comm, e) < 0)
        return -1;
    bench_job_describe(j, on->comm, on->where);
    return 0;
}

void bench_job_describe(struct bench_job *j, const struct bench_comm *comm, struct layout where)
{
    struct bench_identity id;
    j->backend->identify(comm, &id);
    j->run->backend = j->opts.backend;
    j->run->library = arena_strndup(&j->result.arena, id.library, strlen(id.library));
    j->run->gpu = arena_strndup(&j->result.arena, id.device, strlen(id.device));
    j->run->where = where;
    add_number(j, "CUDA of the driver", id.driver);
    add_number(j, "CUDA of the runtime", id.runtime);
    add_settings(j);
}

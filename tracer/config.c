/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "format.h"
#include "secrets.h"
#include "warn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Launchers that number their processes. The first row whose rank is set gives all three, so that
 * numbers of nested launchers (torchrun inside a Slurm step) do not mix. */
static const struct {
    const char *rank, *world_size, *local_rank;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    {"PMIX_RANK", NULL, NULL},
};

/* The variables of the environment that may be recorded: settings that change how fast a program
 * runs, and the job's identity. A name that ends in '_' stands for all that start with it. */
static const char *const recorded[] = {
    "NCCL_",
    "TORCH_NCCL_",
    "RCCL_",
    "HSA_",
    "FI_",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "LOCAL_WORLD_SIZE",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
};

#define VALUE_MAX 1024

const char *config_variable(const char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    }
    return NULL;
}

/* A value that is no flag's counts as not set. */
static bool is_on(const char *value)
{
    struct setting_value v = {0, 0};
    return value != NULL && setting_parse(SETTING_FLAG, value, &v) && v.number != 0;
}

bool config_is_disabled(const char *const *environment)
{
    return is_on(config_variable(environment, "SPECTER_DISABLE"));
}

static int64_t number(const char *value)
{
    char *end;
    long long n;
    if (value == NULL || value[0] < '0' || value[0] > '9')
        return CONFIG_UNKNOWN;
    errno = 0;
    n = strtoll(value, &end, 10);
    return *end == '\0' && errno == 0 ? n : CONFIG_UNKNOWN;
}

static int64_t number_of(const char *const *environment, const char *name)
{
    return name != NULL ? number(config_variable(environment, name)) : CONFIG_UNKNOWN;
}

static void read_ranks(struct config *c, const char *const *environment)
{
    c->rank = c->world_size = c->local_rank = CONFIG_UNKNOWN;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        c->rank = number_of(environment, launchers[i].rank);
        if (c->rank == CONFIG_UNKNOWN)
            continue;
        c->world_size = number_of(environment, launchers[i].world_size);
        c->local_rank = number_of(environment, launchers[i].local_rank);
        return;
    }
}

bool config_in_list(const char *list, int64_t value)
{
    while (*list != '\0') {
        char *end;
        long long from, to;
        if (*list < '0' || *list > '9')
            return false;
        from = to = strtoll(list, &end, 10);
        if (*end == '-') {
            if (end[1] < '0' || end[1] > '9')
                return false;
            to = strtoll(end + 1, &end, 10);
        }
        if (value >= from && value <= to)
            return true;
        if (*end != ',')
            return false;
        list = end + 1;
    }
    return false;
}

static bool is_recorded(const char *variable, size_t len)
{
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        size_t n = strlen(recorded[i]);
        bool prefix = recorded[i][n - 1] == '_';
        if (len >= n && memcmp(variable, recorded[i], n) == 0 && (prefix || len == n))
            return true;
    }
    return false;
}

static void record_environment(struct config *c, const char *const *environment)
{
    struct out o = {c->env};
    const char *end = c->env + sizeof c->env;
    put_RAW(&o, "{");
    for (; *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        char name[128];
        size_t len = equals != NULL ? (size_t)(equals - *environment) : sizeof name;
        if (len >= sizeof name || !is_recorded(*environment, len) ||
            strnlen(equals + 1, VALUE_MAX) == VALUE_MAX ||
            (size_t)(end - o.p) < FORMAT_STR_MAX(len) + FORMAT_STR_MAX(VALUE_MAX) + 4)
            continue;
        memcpy(name, *environment, len);
        name[len] = '\0';
        if (o.p[-1] != '{')
            put_RAW(&o, ",");
        put_STR(&o, name);
        put_RAW(&o, ":");
        put_STR(&o, secrets_is_one(name, equals + 1) ? SECRETS_REDACTED : equals + 1);
    }
    put_RAW(&o, "}");
    *o.p = '\0';
}

/* ---- the run's name ---- */

/* Field 22 of /proc/PID/stat, in clock ticks since boot: with the pid it names a process for good.
 */
static unsigned long long start_of(int64_t pid)
{
    char path[64], text[1024], *field;
    ssize_t len;
    int fd;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    len = read(fd, text, sizeof text - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    field = strrchr(text, ')'); /* the command's name may hold anything, spaces too */
    for (int i = 2; field != NULL && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/* A name that all processes of this job share and that no other job has, where launchers and
 * capture gave none. torchrun makes each worker the leader of a group of its own, but is parent of
 * all. */
static void name_from_process(struct config *c, bool below_torchrun)
{
    int64_t pid = below_torchrun ? getppid() : getpgrp();
    snprintf(c->run, sizeof c->run, "%s-%lld-%llu", c->host, (long long)pid, start_of(pid));
}

/* How often Slurm has started the job anew: its steps are numbered from 0 again. */
static void name_restart(struct config *c, const char *const *environment)
{
    int64_t restarts = number_of(environment, "SLURM_RESTART_COUNT");
    size_t len = strlen(c->run);
    if (restarts > 0)
        snprintf(c->run + len, sizeof c->run - len, ".restart%lld", (long long)restarts);
}

/* A launcher that started one capture per task or node gives the only name that all of them share;
 * below one capture that started everything, its own name tells two captures apart. A name that is
 * not of the form that a single capture gives is one that the captures of a step have agreed on. */
static void name_run(struct config *c, const char *const *environment)
{
    const char *job = config_variable(environment, "SLURM_JOB_ID"),
               *step = config_variable(environment, "SLURM_STEP_ID");
    const char *elastic = config_variable(environment, "TORCHELASTIC_RUN_ID");
    const char *space = config_variable(environment, "PMIX_NAMESPACE");
    const char *capture = config_variable(environment, "SPECTER_RUN");
    bool many_tasks = number(config_variable(environment, "SLURM_STEP_NUM_TASKS")) > 1;
    bool many_nodes = number(config_variable(environment, "LOCAL_WORLD_SIZE")) < c->world_size;
    bool named = elastic != NULL && elastic[0] != '\0' && strcmp(elastic, "none") != 0;
    bool agreed = capture != NULL && capture[0] != '\0' &&
                  strncmp(capture, SPECTER_CAPTURE_PREFIX, strlen(SPECTER_CAPTURE_PREFIX)) != 0;
    const char *given = NULL;
    if (!agreed && job != NULL && step != NULL && (many_tasks || capture == NULL)) {
        snprintf(c->run, sizeof c->run, "%.64s.%.64s", job, step);
        name_restart(c, environment);
        return;
    }
    if (agreed)
        given = capture;
    else if (named && (many_nodes || capture == NULL))
        given = elastic;
    else if (space != NULL && c->world_size > 1)
        given = space;
    else if (capture != NULL && capture[0] != '\0')
        given = capture;
    else if (job != NULL)
        given = job;
    if (given != NULL)
        snprintf(c->run, sizeof c->run, "%.*s", (int)sizeof c->run - 1, given);
    else
        name_from_process(c, elastic != NULL);
}

/* ---- settings ---- */

/* The value as text: the variable's, or the default where there is none or it cannot be read. Who
 * wants no tracer wants no warning either. */
static const char *value_of(const char *const *environment, bool quiet, enum setting_kind kind,
                            const char *variable, const char *normal, struct setting_value *v)
{
    const char *text = config_variable(environment, variable);
    *v = (struct setting_value){0, 0};
    if (text != NULL && text[0] != '\0') {
        if (setting_parse(kind, text, v))
            return text;
        if (!quiet)
            warn_once(variable, ": '", text, "' is not ", setting_expected(kind),
                      "; taken as if it were not set", NULL);
    }
    *v = (struct setting_value){0, 0};
    setting_parse(kind, normal, v);
    return normal;
}

#define SETTING_READ_FLAG(_id) c->_id = v.number != 0;
#define SETTING_READ_PATH(_id) snprintf(c->_id, sizeof c->_id, "%s", text);
#define SETTING_READ_NAME(_id) snprintf(c->_id, sizeof c->_id, "%s", text);
#define SETTING_READ_RANKS(_id) \
    c->record_ops = text[0] == '\0' || c->rank == CONFIG_UNKNOWN || config_in_list(text, c->rank);
#define SETTING_READ_STEPS(_id) c->_id = v;
#define SETTING_READ_SECONDS(_id) c->_id = v.number;
#define SETTING_READ_PERCENT(_id) c->_id = v.number;
#define SETTING_READ_COUNT(_id) c->_id = v.number;
#define SETTING_READ_RATE(_id) c->_id = v.number;
#define SETTING_READ_BYTES(_id) c->_id = v.number;

static void read_settings(struct config *c, const char *const *environment)
{
    struct setting_value v;
    const char *text;
#define SETTING(_kind, _id, _option, _letter, _variable, _default, _arg, _help)          \
    text = value_of(environment, c->disabled, SETTING_##_kind, _variable, _default, &v); \
    SETTING_READ_##_kind(_id)
#include "settings.def"
#undef SETTING
    (void)text;
}

static void choose_kinds(struct config *c)
{
    c->wanted[RECORD_NCCL] = !c->no_nccl;
    c->wanted[RECORD_GEMM] = !c->no_cublas;
    c->wanted[RECORD_RECORD] = c->wanted[RECORD_WAIT] = c->wanted[RECORD_SYNC] = !c->no_deps;
    c->wanted[RECORD_UNTRACED] = !c->no_launches;
    c->wanted[RECORD_COPY] = !c->no_copies;
    c->wanted[RECORD_GRAPH] = !c->no_graphs;
    c->wanted[RECORD_MARK] = !c->no_marks;
}

/* ---- all of it ---- */

/* A path of libspecter.so, under whatever version or sanitizer it goes. */
static bool is_ours(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL && strncmp(slash + 1, "libspecter", strlen("libspecter")) == 0;
}

void config_read_from(struct config *c, const char *const *environment)
{
    c->disabled = config_is_disabled(environment);
    c->plugin = is_ours(config_variable(environment, "NCCL_PROFILER_PLUGIN"));
    c->pid = getpid();
    if (gethostname(c->host, sizeof c->host - 1) != 0)
        c->host[0] = '\0';
    c->host[sizeof c->host - 1] = '\0';
    read_ranks(c, environment);
    read_settings(c, environment);
    choose_kinds(c);
    name_run(c, environment);
    record_environment(c, environment);
}

void config_read(struct config *c)
{
    static const char *const nothing[] = {NULL};
    /* A program that gained rights by being started must not write where its caller says. */
    if (getauxval(AT_SECURE) != 0)
        c->disabled = true;
    else
        config_read_from(c, environ != NULL ? (const char *const *)environ : nothing);
}

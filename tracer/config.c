/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "format.h"
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
bool config_is_disabled(const char *const *environment)
{
    struct setting_value v = {0, 0};
    const char *value = config_variable(environment, "SPECTER_DISABLE");
    return value != NULL && setting_parse(SETTING_FLAG, value, &v) && v.number != 0;
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

/* ---- secrets ----
 *
 * Finds settings of the environment that look like secrets: a trace is handed around, so the values
 * of these are not written to it. A setting is one by its name or by its value; secrets.def holds
 * the words. What is doubtful counts as a secret, but never what NCCL's own settings look like:
 * paths, lists of interfaces, adapters and devices, addresses with ports, numbers.
 */

#define PREFIX_REST_MIN 12 /* characters after a prefix: fewer are an ordinary word */
#define RANDOM_MIN 24      /* characters of a run of letters and digits */
#define HEX_MIN 32         /* of a run of hex digits alone: a UUID has at most 12 in a row */
#define BASE64_MIN 32      /* of a part with the other characters of base64 in it */

static bool is_anywhere(const char *name, const char *word)
{
    size_t len = strlen(word);
    for (; *name != '\0'; name++) {
        if (strncasecmp(name, word, len) == 0)
            return true;
    }
    return false;
}

static bool is_part(const char *name, const char *word)
{
    size_t len = strlen(word);
    for (;;) {
        size_t part = strcspn(name, "_");
        if (part == len && strncasecmp(name, word, len) == 0)
            return true;
        if (name[part] == '\0')
            return false;
        name += part + 1;
    }
}

enum word_kind { WORD_ANYWHERE, WORD_PART, WORD_PATH, WORD_PREFIX };

static const struct {
    enum word_kind kind;
    const char *text;
} words[] = {
#define ANYWHERE(_word) {WORD_ANYWHERE, _word},
#define PART(_word) {WORD_PART, _word},
#define PATH(_word) {WORD_PATH, _word},
#define PREFIX(_text) {WORD_PREFIX, _text},
#include "secrets.def"
};

#define WORDS (sizeof words / sizeof *words)

static bool has_word(const char *name, enum word_kind kind)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].kind == kind && (kind == WORD_ANYWHERE ? is_anywhere(name, words[i].text)
                                                            : is_part(name, words[i].text)))
            return true;
    }
    return false;
}

static bool is_prefixed(const char *part, size_t len)
{
    for (size_t i = 0; i < WORDS; i++) {
        size_t n = strlen(words[i].text);
        if (words[i].kind == WORD_PREFIX && len >= n + PREFIX_REST_MIN &&
            strncmp(part, words[i].text, n) == 0)
            return true;
    }
    return false;
}

/* user:password@host, with or without a scheme in front. */
static bool has_password(const char *value)
{
    const char *scheme = strstr(value, "://"), *from = scheme != NULL ? scheme + 3 : value;
    const char *at = strchr(from, '@');
    const char *colon = at != NULL ? memchr(from, ':', (size_t)(at - from)) : NULL;
    return colon != NULL && colon + 1 < at && at[1] != '\0' &&
           memchr(from, '/', (size_t)(at - from)) == NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

struct mix {
    size_t letters, digits, hex;
    size_t turns; /* from a digit to something else, and back */
    size_t cases; /* from a small letter to a capital, and back */
};

static struct mix mix_of(const char *text, size_t len)
{
    struct mix m = {0};
    for (size_t i = 0; i < len; i++) {
        m.letters += is_lower(text[i]) || is_upper(text[i]);
        m.digits += is_digit(text[i]);
        m.hex += is_hex(text[i]);
        m.turns += i > 0 && is_digit(text[i]) != is_digit(text[i - 1]);
        m.cases += i > 0 && ((is_lower(text[i]) && is_upper(text[i - 1])) ||
                             (is_upper(text[i]) && is_lower(text[i - 1])));
    }
    return m;
}

/* Letters and digits with nothing between them that separates words: long, and mixed as chance
 * mixes them. Words, versions and names of hosts change seldom between letters and digits. */
static bool is_random_run(const char *run, size_t len)
{
    struct mix m = mix_of(run, len);
    if (m.hex == len)
        return len >= HEX_MIN && m.letters > 0;
    return len >= RANDOM_MIN && m.letters > 0 && m.digits >= 2 && m.turns >= 4;
}

static bool has_random_run(const char *part, size_t len)
{
    for (size_t i = 0, run; i < len; i += run + 1) {
        run = 0;
        while (i + run < len &&
               (is_digit(part[i + run]) || is_lower(part[i + run]) || is_upper(part[i + run])))
            run++;
        if (is_random_run(part + i, run))
            return true;
    }
    return false;
}

/* All of base64, also its form for URLs. UUIDs, which have its letters, too, are of one case. */
static bool is_base64(const char *part, size_t len)
{
    struct mix m = mix_of(part, len);
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(part[i]) && !is_lower(part[i]) && !is_upper(part[i]) &&
            strchr("+/-_=", part[i]) == NULL)
            return false;
    }
    return len >= BASE64_MIN && m.digits > 0 && m.cases >= 4;
}

/* Of a part of a list; "name=" may stand before it. */
static bool is_token(const char *part, size_t len)
{
    const char *equals = memchr(part, '=', len);
    size_t head = equals != NULL ? (size_t)(equals + 1 - part) : 0;
    return is_prefixed(part, len) || is_prefixed(part + head, len - head) || is_base64(part, len) ||
           has_random_run(part, len);
}

static bool has_token(const char *value)
{
    static const char separators[] = ",;|";
    while (*value != '\0') {
        size_t len = strcspn(value, separators);
        if (is_token(value, len))
            return true;
        value += len + (value[len] != '\0');
    }
    return false;
}

/* A path is whole whatever its parts look like: folders are named after jobs and commits. */
static bool is_path(const char *value)
{
    return value[0] == '/' || strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0 ||
           strncmp(value, "~/", 2) == 0;
}

static bool is_secret(const char *name, const char *value)
{
    if (value[0] == '\0')
        return false;
    if (has_word(name, WORD_ANYWHERE) || has_word(name, WORD_PART) || has_password(value))
        return true;
    return !has_word(name, WORD_PATH) && !is_path(value) && has_token(value);
}

/* ---- what is recorded of the environment ---- */

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
        put_STR(&o, is_secret(name, equals + 1) ? CONFIG_REDACTED : equals + 1);
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

/* The number of times that Slurm has started the job anew: its steps are numbered from 0 again. */
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
    c->wanted[RECORD_EVENT] = c->wanted[RECORD_WAIT] = c->wanted[RECORD_SYNC] = !c->no_deps;
    c->wanted[RECORD_LAUNCH] = !c->no_launches;
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

/* SPDX-License-Identifier: MIT
 *
 * Reads what Slurm prints of a job as text: scontrol's records, variables of the job's environment,
 * names of nodes.
 */
#include "trace/job.h"

#include "trace/reader.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of nodes ---- */

struct hostlist {
    void (*add)(void *arg, const char *name);
    void *arg;
    size_t count; /* names given */
    char name[HOSTLIST_NAME_MAX + 1];
};

static int expand(struct hostlist *l, size_t used, const char *text, const char *end);

/* Adds the names that go on with a number of a range and then with the text behind the bracket. */
static int put_number(struct hostlist *l, size_t used, int64_t number, int width, const char *rest,
                      const char *end)
{
    int n = snprintf(l->name + used, sizeof l->name - used, "%0*lld", width, (long long)number);
    if (n < 0 || (size_t)n >= sizeof l->name - used)
        return -1;
    return expand(l, used + (size_t)n, rest, end);
}

/* "001-003,007" between brackets. Each part gives a name, so that HOSTLIST_MAX bounds the work. */
static int put_ranges(struct hostlist *l, size_t used, const char *text, const char *close,
                      const char *end)
{
    while (text <= close) { /* an empty part is an error, also the last one */
        long long low, high;
        int width = 0, n = 0;
        const char *comma = memchr(text, ',', (size_t)(close - text));
        char range[64];
        size_t len = (size_t)((comma != NULL ? comma : close) - text);
        if (len == 0 || len >= sizeof range)
            return -1;
        memcpy(range, text, len);
        range[len] = '\0';
        while (isdigit((unsigned char)range[width]))
            width++;
        if (width == 0 || width > 18 || sscanf(range, "%18lld-%18lld%n", &low, &high, &n) < 1)
            return -1;
        if (range[width] == '\0')
            high = low;
        else if (n == 0 || range[n] != '\0' || high < low || high - low >= HOSTLIST_MAX)
            return -1;
        for (; low <= high; low++) {
            if (put_number(l, used, low, width, close + 1, end) < 0)
                return -1;
        }
        text += len + 1;
    }
    return 0;
}

/* Adds all names that begin with the `used` bytes in l->name and go on with an expansion of the
 * text. */
static int expand(struct hostlist *l, size_t used, const char *text, const char *end)
{
    const char *open = memchr(text, '[', (size_t)(end - text));
    const char *close = open != NULL ? memchr(open, ']', (size_t)(end - open)) : NULL;
    size_t plain = (size_t)((open != NULL ? open : end) - text);
    if (used + plain > HOSTLIST_NAME_MAX || (open != NULL && close == NULL))
        return -1;
    for (size_t i = 0; i < plain; i++) {
        if (!isgraph((unsigned char)text[i]) || strchr("]=$`\"'(){}", text[i]) != NULL)
            return -1;
    }
    memcpy(l->name + used, text, plain);
    if (open != NULL)
        return put_ranges(l, used + plain, open + 1, close, end);
    l->name[used + plain] = '\0';
    if (used + plain == 0 || l->count++ == HOSTLIST_MAX)
        return -1;
    l->add(l->arg, l->name);
    return 0;
}

int hostlist_expand(const char *text, size_t len, void (*add)(void *arg, const char *name),
                    void *arg)
{
    struct hostlist l = {.add = add, .arg = arg};
    const char *end = text + len;
    if (len == 0)
        return -1;
    while (text < end) {
        const char *stop = text;
        bool inside = false;
        for (; stop < end && (inside || *stop != ','); stop++)
            inside = *stop == '[' || (inside && *stop != ']');
        if (expand(&l, 0, text, stop) < 0)
            return -1;
        text = stop + 1;
    }
    return 0;
}

int tasklist_expand(const char *text, size_t len, void (*add)(void *arg, int64_t tasks), void *arg)
{
    char copy[32];
    const char *end = text + len;
    size_t count = 0;
    if (len == 0)
        return -1;
    while (text < end) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t n = (size_t)((comma != NULL ? comma : end) - text);
        long long tasks, times = 1;
        int used = 0;
        if (n == 0 || n >= sizeof copy)
            return -1;
        memcpy(copy, text, n);
        copy[n] = '\0';
        if (sscanf(copy, "%9lld%n(x%9lld)%n", &tasks, &used, &times, &used) < 1 ||
            copy[used] != '\0' || tasks < 0 || times < 1 || (count += (size_t)times) > HOSTLIST_MAX)
            return -1;
        for (; times > 0; times--)
            add(arg, tasks);
        text += n + 1;
    }
    return 0;
}

#define TEXT_MAX ((size_t)256 << 20) /* a pod takes some 10 KB */
#define LINE_MAX 65536

/* ---- records ---- */

struct job_record *job_add_record(struct run *run, const char *label)
{
    if (run->job == NULL)
        run->job = array_new(1, sizeof *run->job);
    ARRAY_GROW(run->job->records, run->job->cap, run->job->count + 1);
    run->job->records[run->job->count] = (struct job_record){
        .label = intern_add(&run->names, label, strlen(label)),
        .name = "",
        .partition = "",
        .state = "",
        .reason = "",
        .nodelist = "",
        .run_time = "",
        .distribution = "",
        .id = -1,
        .array_id = -1,
        .array_task = -1,
        .het_id = -1,
        .het_offset = -1,
        .tasks = -1,
        .exit_code = -1,
        .signal = -1,
        .seconds = -1,
    };
    return &run->job->records[run->job->count++];
}

struct job_node *job_add_node(struct job_record *r, const char *name)
{
    ARRAY_GROW(r->nodes, r->cap_nodes, r->nnodes + 1);
    r->nodes[r->nnodes] = (struct job_node){
        .name = name, .host = "", .pod = "", .cause = "", .phase = "", .index = -1};
    return &r->nodes[r->nnodes++];
}

void job_free(struct job *job)
{
    for (size_t i = 0; job != NULL && i < job->count; i++)
        free(job->records[i].nodes);
    if (job != NULL)
        free(job->records);
    free(job);
}

/* ---- nodes ---- */

struct nodes {
    struct run *run;
    struct job_record *record;
    size_t at; /* node whose tasks come next */
};

static void add_node(void *arg, const char *name)
{
    struct nodes *n = arg;
    job_add_node(n->record, intern_add(&n->run->names, name, strlen(name)));
}

static void set_tasks(void *arg, int64_t tasks)
{
    struct nodes *n = arg;
    if (n->at < n->record->nnodes)
        n->record->nodes[n->at].tasks = tasks;
    n->at++;
}

int job_set_nodes(struct run *run, struct job_record *r, const char *nodes, const char *tasks)
{
    struct nodes n = {run, r, 0};
    r->nnodes = 0;
    r->nodelist = intern_add(&run->names, nodes, strlen(nodes));
    if (hostlist_expand(nodes, strlen(nodes), add_node, &n) < 0) {
        r->nnodes = 0;
        return -1;
    }
    if (tasks != NULL && tasks[0] != '\0' &&
        (tasklist_expand(tasks, strlen(tasks), set_tasks, &n) < 0 || n.at != r->nnodes)) {
        for (size_t i = 0; i < r->nnodes; i++)
            r->nodes[i].tasks = 0;
        return -1;
    }
    return 0;
}

/* ---- scontrol show job ---- */

/* Finds the word KEY= of a line and copies its value, which ends at white space, or with `until`
 * only before that text. "" where the line has no such word or "(null)". */
static const char *value_of(const char *line, const char *key, const char *until, char value[256])
{
    size_t len = strlen(key), n;
    const char *p = line, *end;
    value[0] = '\0';
    while ((p = strstr(p, key)) != NULL && p > line && !isspace((unsigned char)p[-1]))
        p += len;
    if (p == NULL)
        return value;
    p += len;
    end = until != NULL ? strstr(p, until) : NULL;
    if (end == NULL)
        end = until != NULL ? p + strlen(p) : p + strcspn(p, " \t");
    n = (size_t)(end - p) < 255 ? (size_t)(end - p) : 255;
    memcpy(value, p, n);
    value[n] = '\0';
    if (strcmp(value, "(null)") == 0)
        value[0] = '\0';
    return value;
}

static void take_text(struct run *run, const char **to, const char *value)
{
    if (value[0] != '\0')
        *to = intern_add(&run->names, value, strlen(value));
}

static void take_number(int64_t *to, const char *value)
{
    char *end;
    long long number = strtoll(value, &end, 10);
    if (end != value && number >= 0 && number <= JOB_NUMBER_MAX)
        *to = number;
}

/* Lists of nodes are longer than other values. */
static void take_nodes(struct run *run, struct job_record *r, const char *line, size_t number)
{
    const char *p = strstr(line, "NodeList=");
    char *list;
    size_t len;
    while (p != NULL && p > line && !isspace((unsigned char)p[-1]))
        p = strstr(p + 1, "NodeList="); /* ReqNodeList= */
    if (p == NULL)
        return;
    p += strlen("NodeList=");
    len = strcspn(p, " \t");
    if (len == 0 || strncmp(p, "(null)", len) == 0)
        return;
    list = arena_strndup(&run->arena, p, len);
    if (job_set_nodes(run, r, list, NULL) < 0)
        run_note(run, true, "%s: line %zu: '%.64s' is no list of nodes", r->label, number, list);
}

static void read_scontrol_line(struct run *run, struct job_record *r, const char *line,
                               size_t number)
{
    char value[256];
    int code, signal;
    take_number(&r->id, value_of(line, "JobId=", NULL, value));
    take_number(&r->array_id, value_of(line, "ArrayJobId=", NULL, value));
    take_number(&r->array_task, value_of(line, "ArrayTaskId=", NULL, value));
    take_number(&r->het_id, value_of(line, "HetJobId=", NULL, value));
    take_number(&r->het_offset, value_of(line, "HetJobOffset=", NULL, value));
    take_text(run, &r->name, value_of(line, "JobName=", " UserId=", value));
    take_text(run, &r->state, value_of(line, "JobState=", NULL, value));
    take_text(run, &r->reason, value_of(line, "Reason=", " Dependency=", value));
    take_text(run, &r->partition, value_of(line, "Partition=", NULL, value));
    take_text(run, &r->run_time, value_of(line, "RunTime=", NULL, value));
    take_number(&r->tasks, value_of(line, "NumTasks=", NULL, value));
    if (sscanf(value_of(line, "ExitCode=", NULL, value), "%9d:%9d", &code, &signal) == 2) {
        r->exit_code = code;
        r->signal = signal;
    }
    take_nodes(run, r, line, number);
}

/* ---- the environment ---- */

#define PARTS_MAX 16 /* of a heterogeneous job */

struct environment {
    char *nodes[2], *tasks[2]; /* of the job, of the step; in the arena */
    char *part_nodes[PARTS_MAX], *part_tasks[PARTS_MAX];
};

/* "SLURM_JOB_ID=7" of a line that may begin with export or declare -x, and have quotes. */
static bool variable_of(const char *line, char name[64], char **value, struct arena *arena)
{
    const char *p = line, *equals;
    size_t len;
    while (isspace((unsigned char)*p))
        p++;
    p += strncmp(p, "export ", 7) == 0 ? 7 : strncmp(p, "declare -x ", 11) == 0 ? 11 : 0;
    equals = strchr(p, '=');
    if (strncmp(p, "SLURM_", 6) != 0 || equals == NULL || equals - p >= 64)
        return false;
    memcpy(name, p, (size_t)(equals - p));
    name[equals - p] = '\0';
    p = equals + 1;
    len = strlen(p);
    if (len >= 2 && (p[0] == '"' || p[0] == '\'') && p[len - 1] == p[0]) {
        p++;
        len -= 2;
    }
    *value = arena_strndup(arena, p, len);
    return strpbrk(*value, "$`") == NULL; /* a script, not what it made */
}

/* The N of PREFIX and N, a part of a heterogeneous job; -1: another name, or no such part. */
static int part_of(const char *name, const char *prefix)
{
    const char *digits = name + strlen(prefix);
    if (strncmp(name, prefix, strlen(prefix)) != 0 || digits[0] == '\0' || strlen(digits) > 2 ||
        digits[strspn(digits, "0123456789")] != '\0')
        return -1;
    return atoi(digits) < PARTS_MAX ? atoi(digits) : -1;
}

static void read_variable(struct run *run, struct job_record *r, struct environment *env,
                          const char *line)
{
    char name[64], *value;
    int part;
    if (!variable_of(line, name, &value, &run->arena))
        return;
    if (strcmp(name, "SLURM_JOB_ID") == 0)
        take_number(&r->id, value);
    else if (strcmp(name, "SLURM_ARRAY_JOB_ID") == 0)
        take_number(&r->array_id, value);
    else if (strcmp(name, "SLURM_ARRAY_TASK_ID") == 0)
        take_number(&r->array_task, value);
    else if (strcmp(name, "SLURM_JOB_NAME") == 0)
        take_text(run, &r->name, value);
    else if (strcmp(name, "SLURM_JOB_PARTITION") == 0)
        take_text(run, &r->partition, value);
    else if (strcmp(name, "SLURM_NTASKS") == 0)
        take_number(&r->tasks, value);
    else if (strcmp(name, "SLURM_DISTRIBUTION") == 0)
        take_text(run, &r->distribution, value);
    else if (strcmp(name, "SLURM_JOB_NODELIST") == 0)
        env->nodes[0] = value;
    else if (strcmp(name, "SLURM_STEP_NODELIST") == 0)
        env->nodes[1] = value;
    else if (strcmp(name, "SLURM_TASKS_PER_NODE") == 0)
        env->tasks[0] = value;
    else if (strcmp(name, "SLURM_STEP_TASKS_PER_NODE") == 0)
        env->tasks[1] = value;
    else if ((part = part_of(name, "SLURM_JOB_NODELIST_HET_GROUP_")) >= 0)
        env->part_nodes[part] = value;
    else if ((part = part_of(name, "SLURM_TASKS_PER_NODE_HET_GROUP_")) >= 0)
        env->part_tasks[part] = value;
}

/* The lists of all parts of a heterogeneous job, one after another. */
static void join_parts(struct run *run, struct environment *env)
{
    struct buf nodes = BUF_INIT, tasks = BUF_INIT;
    for (int i = 0; i < PARTS_MAX && env->part_nodes[i] != NULL; i++) {
        const char *count = env->part_tasks[i] != NULL ? env->part_tasks[i] : "?";
        buf_printf(&nodes, "%s%s", i > 0 ? "," : "", env->part_nodes[i]);
        buf_printf(&tasks, "%s%s", i > 0 ? "," : "", count);
    }
    env->nodes[1] = arena_strdup(&run->arena, nodes.data);
    env->tasks[1] = arena_strdup(&run->arena, tasks.data);
    buf_release(&nodes);
    buf_release(&tasks);
}

/* A step's nodes are those that its tasks run on. Lists that are none are no loss: a log that names
 * variables looks like an environment. */
static void end_environment(struct run *run, struct job_record *r, struct environment *env)
{
    int step;
    if (env->part_nodes[0] != NULL) {
        join_parts(run, env);
        r->tasks = -1; /* that of the first part */
    }
    step = env->nodes[1] != NULL && env->tasks[1] != NULL;
    if (env->nodes[step] != NULL && job_set_nodes(run, r, env->nodes[step], env->tasks[step]) < 0)
        run_note(run, false, "%s: '%.64s' and '%.64s' are no lists of nodes and their tasks",
                 r->label, env->nodes[step],
                 env->tasks[step] != NULL ? env->tasks[step] : "(none)");
}

/* ---- files ---- */

enum form { FORM_NONE, FORM_SCONTROL, FORM_ENVIRONMENT, FORM_JSON, FORM_NAMES };

/* Returns whether a line begins with the text. */
static bool line_begins(const char *head, size_t len, const char *with)
{
    const char *p = head, *end = head + len;
    size_t n = strlen(with);
    while ((p = memmem(p, (size_t)(end - p), with, n)) != NULL) {
        if (p == head || strchr("\n\t ", p[-1]) != NULL)
            return true;
        p += n;
    }
    return false;
}

static enum form form_of(const char *head, size_t len)
{
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", head[i]) != NULL && head[i] != '\0')
        i++;
    if (len - i > 7 && memcmp(head + i, "JobId=", 6) == 0 && isdigit((unsigned char)head[i + 6]))
        return FORM_SCONTROL;
    if (i < len && head[i] == '{') {
        bool pods = head_has(head, len, "\"apiVersion\"") && head_has(head, len, "\"Pod\"");
        bool jobs = head_has(head, len, "\"jobs\"") &&
                    (head_has(head, len, "\"Slurm\"") || head_has(head, len, "\"slurm\"") ||
                     head_has(head, len, "\"job_state\""));
        return pods || jobs ? FORM_JSON : FORM_NONE;
    }
    return line_begins(head, len, "SLURM_JOB_ID=") || line_begins(head, len, "SLURM_JOB_NODELIST=")
               ? FORM_ENVIRONMENT
               : FORM_NONE;
}

static bool job_sniff(const char *head, size_t len)
{
    return form_of(head, len) != FORM_NONE;
}

/* Names of nodes have no mark but the file's name. */
static bool job_named(const char *label, const char *head, size_t len)
{
    static const char *const names[] = {"hostnames", "nodelist", "hostfile"};
    const char *base = strrchr(label, '/');
    bool named = false;
    base = base != NULL ? base + 1 : label;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        named = named || strncmp(base, names[i], strlen(names[i])) == 0;
    for (size_t i = 0; i < len && named; i++)
        named = isalnum((unsigned char)head[i]) || strchr("-._:\r\n", head[i]) != NULL;
    return named && len > 0 && isalnum((unsigned char)head[0]);
}

static void read_lines(struct run *run, const char *label, char *text, enum form form)
{
    struct job_record *r = form == FORM_SCONTROL ? NULL : job_add_record(run, label);
    struct environment env = {0};
    size_t number = 0;
    for (char *line = text, *end; line != NULL; line = end != NULL ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        line[strcspn(line, "\r")] = '\0';
        number++;
        if (form == FORM_ENVIRONMENT) {
            read_variable(run, r, &env, line);
        } else if (form == FORM_NAMES) {
            struct nodes n = {run, r, 0};
            line[strcspn(line, ": \t")] = '\0';
            if (line[0] != '\0' && r->nnodes < HOSTLIST_MAX)
                add_node(&n, line);
        } else {
            if (strncmp(line + strspn(line, " \t"), "JobId=", 6) == 0)
                r = job_add_record(run, label);
            if (r != NULL)
                read_scontrol_line(run, r, line, number);
        }
    }
    if (form == FORM_ENVIRONMENT)
        end_environment(run, r, &env);
    if (form == FORM_NAMES)
        r->bare = true;
}

static int job_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct buf text = BUF_INIT;
    ssize_t n = 0;
    int rc = 0;
    do {
        n = stream_read(s, buf_reserve(&text, LINE_MAX), LINE_MAX, e);
        text.len += n > 0 ? (size_t)n : 0;
    } while (n > 0 && text.len <= TEXT_MAX);
    if (n < 0 && text.len == 0)
        rc = -1;
    else if (text.len > TEXT_MAX)
        rc = err_set(e, ERR_INPUT, "%s: more than %zu MiB of job metadata", label, TEXT_MAX >> 20);
    else {
        size_t head = text.len < STREAM_PEEK ? text.len : STREAM_PEEK;
        enum form form = form_of(text.data, head);
        if (n < 0)
            run_note(run, true, "%s; what stands before it is used", e->msg);
        buf_putc(&text, '\0');
        text.len--;
        if (form == FORM_JSON)
            rc = job_read_json(run, label, &text, e);
        else
            read_lines(run, label, text.data, form != FORM_NONE ? form : FORM_NAMES);
    }
    buf_release(&text);
    return rc;
}

const struct reader reader_job = {
    .name = "job", .sniff = job_sniff, .named = job_named, .read = job_read, .beside = true};

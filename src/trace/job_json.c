/* SPDX-License-Identifier: MIT
 *
 * Job metadata in JSON: what Slurm's commands print with --json (of several versions: a number may
 * be an object, a state a list), and Kubernetes' pods.
 */
#include "base/json.h"
#include "trace/job.h"
#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

struct json_job {
    struct run *run;
    const char *label;
    struct json j;
    int64_t start, end; /* of the job, seconds since 1970 */
};

/* -1: not one to believe. */
static int64_t read_plain_number(struct json *j)
{
    int64_t number = json_i64(j, -1);
    return number >= 0 && number <= JOB_NUMBER_MAX ? number : -1;
}

/* A number, or an object that has it as "number" beside "set"; -1 none. */
static int64_t read_number(struct json *j)
{
    struct json_text key;
    int64_t number = -1;
    char next = json_peek(j);
    if (next == '0' || next == '-')
        return read_plain_number(j);
    if (next != '{' || !json_enter(j, '{')) {
        json_skip(j);
        return -1;
    }
    bool set = true;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "number"))
            number = read_plain_number(j);
        else if (json_text_is(key, "set"))
            set = json_bool(j, true);
        else
            json_skip(j);
    }
    return set ? number : -1;
}

/* A text, or the first of a list; "" anything else. */
static const char *read_text(struct json_job *x)
{
    const char *text = "";
    char next = json_peek(&x->j);
    if (next == '"')
        return run_intern(x->run, json_string(&x->j));
    if (next != '[' || !json_enter(&x->j, '[')) {
        json_skip(&x->j);
        return "";
    }
    while (json_next_item(&x->j)) {
        if (json_peek(&x->j) == '"' && text[0] == '\0')
            text = run_intern(x->run, json_string(&x->j));
        else
            json_skip(&x->j);
    }
    return text;
}

/* ---- Slurm ---- */

/* A number is a status of wait(); an object has the parts. */
static void read_exit_code(struct json_job *x, struct job_record *r)
{
    struct json *j = &x->j;
    struct json_text key;
    if (json_peek(j) != '{') {
        int64_t status = read_number(j);
        r->exit_code = status >= 0 ? status >> 8 : -1;
        r->signal = status >= 0 ? status & 127 : -1;
        return;
    }
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "return_code")) {
            r->exit_code = read_number(j);
        } else if (json_text_is(key, "signal") && json_peek(j) == '{') {
            json_enter(j, '{');
            while (json_next_key(j, &key)) {
                if (json_text_is(key, "id") || json_text_is(key, "signal_id"))
                    r->signal = read_number(j);
                else
                    json_skip(j);
            }
        } else {
            json_skip(j);
        }
    }
}

/* sacct's objects: "state", "time", "array", "het". */
static void read_part(struct json_job *x, struct job_record *r, struct json_text of)
{
    struct json *j = &x->j;
    struct json_text key;
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        if (json_text_is(of, "state") && json_text_is(key, "current"))
            r->state = read_text(x);
        else if (json_text_is(of, "state") && json_text_is(key, "reason"))
            r->reason = read_text(x);
        else if (json_text_is(of, "time") && json_text_is(key, "elapsed"))
            r->seconds = read_number(j);
        else if (json_text_is(of, "array") && json_text_is(key, "job_id"))
            r->array_id = read_number(j);
        else if (json_text_is(of, "array") && json_text_is(key, "task_id"))
            r->array_task = read_number(j);
        else if (json_text_is(of, "het") && json_text_is(key, "job_id"))
            r->het_id = read_number(j);
        else if (json_text_is(of, "het") && json_text_is(key, "job_offset"))
            r->het_offset = read_number(j);
        else
            json_skip(j);
    }
}

static void read_nodes(struct json_job *x, struct job_record *r)
{
    const char *nodes = read_text(x);
    if (nodes[0] != '\0' && strcmp(nodes, "None assigned") != 0 &&
        job_set_nodes(x->run, r, nodes, NULL) < 0)
        run_note(x->run, true, "%s: '%.64s' is no list of nodes", x->label, nodes);
}

static void read_job_key(struct json_job *x, struct job_record *r, struct json_text key)
{
    struct json *j = &x->j;
    static const char *const parts[] = {"state", "time", "array", "het"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (json_text_is(key, parts[i]) && json_peek(j) == '{') {
            read_part(x, r, key);
            return;
        }
    }
    if (json_text_is(key, "job_id"))
        r->id = read_number(j);
    else if (json_text_is(key, "array_job_id"))
        r->array_id = read_number(j);
    else if (json_text_is(key, "array_task_id"))
        r->array_task = read_number(j);
    else if (json_text_is(key, "het_job_id"))
        r->het_id = read_number(j);
    else if (json_text_is(key, "het_job_offset"))
        r->het_offset = read_number(j);
    else if (json_text_is(key, "name"))
        r->name = read_text(x);
    else if (json_text_is(key, "partition"))
        r->partition = read_text(x);
    else if (json_text_is(key, "job_state"))
        r->state = read_text(x);
    else if (json_text_is(key, "state_reason"))
        r->reason = read_text(x);
    else if (json_text_is(key, "tasks"))
        r->tasks = read_number(j);
    else if (json_text_is(key, "exit_code"))
        read_exit_code(x, r);
    else if (json_text_is(key, "start_time"))
        x->start = read_number(j);
    else if (json_text_is(key, "end_time"))
        x->end = read_number(j);
    else if (json_text_is(key, "nodes") && json_peek(j) == '"')
        read_nodes(x, r);
    else
        json_skip(j);
}

static void read_jobs(struct json_job *x)
{
    struct json *j = &x->j;
    struct json_text key;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct job_record *r;
        if (!json_enter(j, '{'))
            continue;
        r = job_add_record(x->run, x->label);
        x->start = x->end = -1;
        while (json_next_key(j, &key))
            read_job_key(x, r, key);
        if (r->seconds < 0 && x->start > 0 && x->end >= x->start)
            r->seconds = x->end - x->start;
        r->array_id = r->array_id > 0 ? r->array_id : -1; /* 0: no array */
        r->het_id = r->het_id > 0 ? r->het_id : -1;
    }
}

/* ---- Kubernetes ---- */

/* The number that a label begins with; -1 none. */
static int64_t index_of(const char *label)
{
    long long number = strtoll(label, NULL, 10);
    return label[0] >= '0' && label[0] <= '9' && number <= JOB_NUMBER_MAX ? number : -1;
}

/* Labels, and annotations of the same names, that number the pods of a job. */
static void read_labels(struct json_job *x, struct job_record *r, struct job_node *p, bool *master)
{
    static const char *const numbers[] = {
        "batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index",
        "apps.kubernetes.io/pod-index", "leaderworkerset.sigs.k8s.io/worker-index",
        "volcano.sh/task-index"};
    static const char *const names[] = {"training.kubeflow.org/job-name",
                                        "batch.kubernetes.io/job-name", "job-name"};
    struct json *j = &x->j;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        const char *value = json_peek(j) == '"' ? read_text(x) : (json_skip(j), "");
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            if (json_text_is(key, numbers[i]) && index_of(value) >= 0)
                p->index = index_of(value);
        }
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (json_text_is(key, names[i]))
                r->name = value;
        }
        if (json_text_is(key, "training.kubeflow.org/replica-type") ||
            json_text_is(key, "training.kubeflow.org/job-role"))
            *master |= strcasecmp(value, "master") == 0;
    }
}

static void read_metadata(struct json_job *x, struct job_record *r, struct job_node *p,
                          bool *master)
{
    struct json *j = &x->j;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "name"))
            p->pod = read_text(x);
        else if (json_text_is(key, "namespace"))
            r->partition = read_text(x);
        else if (json_text_is(key, "labels") || json_text_is(key, "annotations"))
            read_labels(x, r, p, master);
        else
            json_skip(j);
    }
}

/* {"terminated": {"exitCode": 137, "reason": "OOMKilled"}} */
static void read_container_state(struct json_job *x, struct job_node *p)
{
    struct json *j = &x->j;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        const char *reason = "";
        int64_t code = 0;
        if (!json_text_is(key, "terminated") || json_peek(j) != '{') {
            json_skip(j);
            continue;
        }
        json_enter(j, '{');
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "reason"))
                reason = read_text(x);
            else if (json_text_is(key, "exitCode"))
                code = read_number(j);
            else
                json_skip(j);
        }
        if (code > 0 && p->cause[0] == '\0') {
            p->cause = reason[0] != '\0' ? reason : "Error";
            p->exit_code = code < 1000 ? (int)code : 0;
        }
    }
}

static void read_status(struct json_job *x, struct job_node *p)
{
    struct json *j = &x->j;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "phase"))
            p->phase = read_text(x);
        else if (json_text_is(key, "reason"))
            p->cause = read_text(x); /* "Evicted" */
        else if (json_text_is(key, "containerStatuses") && json_peek(j) == '[') {
            json_enter(j, '[');
            while (json_next_item(j)) {
                if (!json_enter(j, '{'))
                    continue;
                while (json_next_key(j, &key)) {
                    if (json_text_is(key, "state") || json_text_is(key, "lastState"))
                        read_container_state(x, p);
                    else
                        json_skip(j);
                }
            }
        } else
            json_skip(j);
    }
}

static void read_spec(struct json_job *x, struct job_node *p)
{
    struct json *j = &x->j;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "nodeName"))
            p->name = read_text(x);
        else if (json_text_is(key, "hostname"))
            p->host = read_text(x);
        else
            json_skip(j);
    }
}

static void read_pod_key(struct json_job *x, struct job_record *r, struct job_node *p,
                         struct json_text key, bool *master)
{
    if (json_text_is(key, "metadata"))
        read_metadata(x, r, p, master);
    else if (json_text_is(key, "spec"))
        read_spec(x, p);
    else if (json_text_is(key, "status"))
        read_status(x, p);
    else
        json_skip(&x->j);
}

#define NO_MASTER SIZE_MAX

/* Completes the pods' host names and numbers. A PyTorchJob numbers its workers from 0, and its
 * master, nodes[master], has rank 0: the workers' numbers move up by one. */
static void end_pods(struct job_record *r, size_t master)
{
    for (size_t i = 0; i < r->nnodes; i++) {
        struct job_node *p = &r->nodes[i];
        if (i == master)
            p->index = 0;
        else if (master != NO_MASTER && p->index >= 0)
            p->index++;
        if (p->host[0] == '\0')
            p->host = p->pod;
    }
}

static void read_pods(struct json_job *x, struct job_record *r)
{
    struct json *j = &x->j;
    struct json_text key;
    size_t master_at = NO_MASTER;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        bool master = false;
        struct job_node *p;
        if (!json_enter(j, '{'))
            continue;
        p = job_add_node(r, "");
        while (json_next_key(j, &key))
            read_pod_key(x, r, p, key, &master);
        master_at = master ? r->nnodes - 1 : master_at;
    }
    end_pods(r, master_at);
}

/* Drops the entry made of a list's own metadata, which look like those of a pod. */
static void drop_unnamed(struct job_record *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->nnodes; i++) {
        if (r->nodes[i].pod[0] != '\0')
            r->nodes[kept++] = r->nodes[i];
    }
    r->nnodes = kept;
}

/* ---- files ---- */

int job_read_json(struct run *run, const char *label, const struct buf *text, struct err *e)
{
    struct json_job x = {.run = run, .label = label};
    struct json *j = &x.j;
    struct json_text key;
    struct job_record *pods = NULL;
    size_t before = run->job != NULL ? run->job->count : 0;
    bool master = false;
    json_init(j, text->data, text->len);
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        bool pod = json_text_is(key, "metadata") || json_text_is(key, "spec") ||
                   json_text_is(key, "status");
        if (json_text_is(key, "jobs")) {
            read_jobs(&x);
        } else if (json_text_is(key, "items") || pod) {
            if (pods == NULL) {
                pods = job_add_record(run, label);
                pods->pods = true;
            }
            if (!pod)
                read_pods(&x, pods);
            else
                read_pod_key(&x, pods, pods->nnodes > 0 ? pods->nodes : job_add_node(pods, ""), key,
                             &master);
        } else {
            json_skip(j);
        }
    }
    json_end(j);
    if (pods != NULL && pods->nnodes == 1)
        end_pods(pods, master ? 0 : NO_MASTER);
    if (pods != NULL)
        drop_unnamed(pods);
    if (j->error != NULL && (run->job == NULL || run->job->count == before))
        return err_set(e, ERR_INPUT, "%s: byte %zu: %s", label, json_offset(j), j->error);
    if (j->error != NULL)
        run_note(run, true, "%s: byte %zu: %s; what stands before it is used", label,
                 json_offset(j), j->error);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Writes what is known of a job in words.
 */
#include "trace/job.h"

#include <string.h>
#include <strings.h>

static void put_printable(struct buf *out, const char *text)
{
    buf_put_printable(out, text, strlen(text));
}

/* "30:00" of "00:30:00"; "1-02:00:00" as it is. */
static void put_time(struct buf *out, const struct job_record *r)
{
    if (r->run_time[0] != '\0')
        put_printable(out, r->run_time + (strncmp(r->run_time, "00:", 3) == 0 ? 3 : 0));
    else if (r->seconds >= 3600)
        buf_printf(out, "%lld:%02lld:%02lld", (long long)r->seconds / 3600,
                   (long long)r->seconds / 60 % 60, (long long)r->seconds % 60);
    else
        buf_printf(out, "%02lld:%02lld", (long long)r->seconds / 60, (long long)r->seconds % 60);
}

static bool is_under_way(const char *state)
{
    return strcmp(state, "RUNNING") == 0 || strcmp(state, "PENDING") == 0 ||
           strcmp(state, "COMPLETING") == 0 || strcmp(state, "CONFIGURING") == 0 ||
           strcmp(state, "SUSPENDED") == 0;
}

static void put_end(struct buf *out, const struct job_record *r)
{
    if (r->state[0] == '\0')
        return;
    buf_puts(out, is_under_way(r->state) ? " is " : " ended ");
    put_printable(out, r->state);
    if (r->run_time[0] != '\0' || r->seconds >= 0) {
        buf_puts(out, " after ");
        put_time(out, r);
    }
    if (is_under_way(r->state))
        return;
    if (r->exit_code > 0)
        buf_printf(out, " with exit code %lld", (long long)r->exit_code);
    if (r->signal > 0)
        buf_printf(out, " with signal %lld", (long long)r->signal);
    if (r->reason[0] != '\0' && strcmp(r->reason, "None") != 0 &&
        strcasecmp(r->reason, r->state) != 0) {
        buf_puts(out, " (");
        put_printable(out, r->reason);
        buf_putc(out, ')');
    }
}

/* job 123 (120_3) "train" of partition gpu; 120_3: the array and the task in it. */
static void put_job(struct buf *out, const struct job_record *r)
{
    buf_puts(out, "job");
    if (job_key(r) >= 0)
        buf_printf(out, " %lld", (long long)job_key(r));
    if (r->array_id >= 0 && r->array_task >= 0)
        buf_printf(out, " (%lld_%lld)", (long long)r->array_id, (long long)r->array_task);
    if (r->name[0] != '\0') {
        buf_puts(out, " \"");
        put_printable(out, r->name);
        buf_putc(out, '"');
    }
    if (r->partition[0] != '\0') {
        buf_puts(out, " of partition ");
        put_printable(out, r->partition);
    }
}

#define PODS_BY_STATE_MAX 4096

static void put_pods(struct buf *out, const struct job_record *r)
{
    size_t states = 0, failed = 0;
    buf_printf(out, "Kubernetes says: %zu pod%s", r->nnodes, r->nnodes == 1 ? "" : "s");
    if (r->name[0] != '\0') {
        buf_puts(out, " of job ");
        put_printable(out, r->name);
    }
    for (size_t i = 0; i < r->nnodes; i++) {
        size_t same = 0, seen = 0;
        /* Texts of a run are interned. Very many pods are not compared, and no states listed. */
        for (size_t k = 0; k < r->nnodes && r->nnodes <= PODS_BY_STATE_MAX; k++) {
            seen += k < i && r->nodes[k].phase == r->nodes[i].phase;
            same += r->nodes[k].phase == r->nodes[i].phase;
        }
        if (seen > 0 || same == 0 || r->nodes[i].phase[0] == '\0')
            continue;
        buf_printf(out, "%s %zu ", states++ > 0 ? "," : ":", same);
        put_printable(out, r->nodes[i].phase);
    }
    for (size_t i = 0; i < r->nnodes; i++) {
        const struct job_node *p = &r->nodes[i];
        if (p->cause[0] == '\0' || failed++ >= 2)
            continue;
        buf_puts(out, "; pod ");
        put_printable(out, p->pod);
        buf_puts(out, " on node ");
        put_printable(out, p->name[0] != '\0' ? p->name : "(none)");
        buf_puts(out, ": ");
        put_printable(out, p->cause);
        if (p->exit_code > 0)
            buf_printf(out, " (exit code %d)", p->exit_code);
    }
    if (failed > 2)
        buf_printf(out, " and %zu more", failed - 2);
}

/* Returns whether a record is of the same job, or a part of it that has a number of its own
 * (heterogeneous jobs). A list of squeue has other jobs, too. */
static bool is_part(const struct job_record *of, const struct job_record *r)
{
    return r->label == of->label && job_key(r) == job_key(of);
}

void job_text(struct buf *out, const struct job *job)
{
    const struct job_record *r = job_best_record(job);
    size_t lists = 0, nodes = 0;
    for (size_t i = 0; i < job->count; i++)
        nodes += is_part(r, &job->records[i]) ? job->records[i].nnodes : 0;
    if (r->pods) {
        put_pods(out, r);
        return;
    }
    buf_puts(out, r->bare ? "a list of nodes" : "Slurm says: ");
    if (!r->bare) {
        put_job(out, r);
        put_end(out, r);
    }
    for (size_t i = 0; i < job->count; i++) {
        const struct job_record *part = &job->records[i];
        if (part->nodelist[0] == '\0' || !is_part(r, part))
            continue;
        buf_puts(out, lists++ > 0 ? "," : nodes > 1 ? " on nodes " : " on node ");
        put_printable(out, part->nodelist);
    }
}

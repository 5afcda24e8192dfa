/* SPDX-License-Identifier: MIT
 *
 * From what is known of a job to the nodes of a run's ranks. Names win over numbers: a host that is
 * a node of the job, or a pod of it, is on that node. Where no host is, ranks are taken to fill the
 * nodes in order, as launchers place them by default, if the numbers allow it: by
 * SLURM_TASKS_PER_NODE, else equally, if tasks are as many as ranks or nodes (a launcher a node).
 * Not if a host were then on two nodes, for a distribution other than block, or if hosts are other
 * nodes.
 */
#include "trace/job.h"

#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct apply {
    struct run *run;
    const char *label;            /* of the file that names the nodes */
    const char *distribution;     /* of tasks, as Slurm calls it; "" unknown */
    const struct job_node *nodes; /* borrowed, unless `owned` */
    struct job_node *owned;
    size_t n;
    int64_t tasks; /* of the job; -1 */
    bool pods;
    int *node_of; /* owned [run->nranks]: of each; -1 unknown */
};

/* ---- which job ---- */

int64_t job_key(const struct job_record *r)
{
    return r->het_id >= 0 ? r->het_id : r->id;
}

const struct job_record *job_best_record(const struct job *job)
{
    const struct job_record *best = &job->records[0];
    for (size_t i = 0; i < job->count; i++) {
        const struct job_record *r = &job->records[i];
        if (r->pods)
            return r;
        if ((r->state[0] != '\0' && best->state[0] == '\0') || (best->bare && !r->bare))
            best = r;
    }
    return best;
}

/* The job of "123.0", a run id of Slurm's job and step; -1: another id. */
static int64_t slurm_id(const char *run_id)
{
    long long job, step;
    int used = 0;
    return sscanf(run_id, "%18lld.%9lld%n", &job, &step, &used) == 2 && run_id[used] == '\0' ? job
                                                                                             : -1;
}

/* Takes out the records of other jobs than the run's. False: which one it is is not known. */
static bool choose_job(struct run *run)
{
    struct job *job = run->job;
    const int64_t own = slurm_id(run->id);
    int64_t chosen = -1;
    size_t keys = 0, kept = 0;
    for (size_t i = 0; i < job->count; i++) {
        const struct job_record *r = &job->records[i];
        bool is_own = own >= 0 && (r->id == own || job_key(r) == own);
        if (job_key(r) < 0)
            continue;
        keys += job_key(r) != chosen && chosen >= 0;
        if (chosen < 0 || is_own)
            chosen = job_key(r);
        if (is_own) {
            keys = 0;
            break;
        }
    }
    if (keys > 0) {
        run_note(run, false, "%s: several jobs, and the traces do not tell theirs: not used",
                 job->records[0].label);
        return false;
    }
    for (size_t i = 0; i < job->count; i++) {
        struct job_record *r = &job->records[i];
        if (job_key(r) < 0 || job_key(r) == chosen)
            job->records[kept++] = *r;
        else
            free(r->nodes);
    }
    job->count = kept;
    return true;
}

/* ---- which nodes ---- */

static int by_index(const void *pa, const void *pb)
{
    const struct job_node *a = pa, *b = pb;
    return a->index != b->index ? ORDER(a->index, b->index) : strcmp(a->pod, b->pod);
}

/* The nodes of all records of one file, in order. A file with the tasks of each node is best. */
static void collect_nodes(struct apply *a, const struct job *job)
{
    size_t best_first = 0, best_end = 0, total = 0;
    int best = 0;
    for (size_t i = 0, end; i < job->count; i = end) {
        int score = 0;
        for (end = i; end < job->count && job->records[end].label == job->records[i].label; end++) {
            const struct job_record *r = &job->records[end];
            int value = r->nnodes == 0 ? 0 : r->pods ? 4 : r->nodes[0].tasks > 0 ? 3 : 2 - r->bare;
            score = value > score ? value : score;
        }
        if (score > best) {
            best = score;
            best_first = i;
            best_end = end;
        }
    }
    for (size_t i = best_first; i < best_end; i++)
        total += job->records[i].nnodes;
    a->owned = array_new(total + 1, sizeof *a->owned);
    for (size_t i = best_first; i < best_end; i++) {
        const struct job_record *r = &job->records[i];
        for (size_t k = 0; k < r->nnodes; k++)
            a->owned[a->n++] = r->nodes[k];
        a->pods = r->pods;
        a->label = r->label;
    }
    a->nodes = a->owned;
    if (a->pods && a->n > 1)
        qsort(a->owned, a->n, sizeof *a->owned, by_index);
    for (size_t i = 0; i < job->count; i++) {
        const struct job_record *r = &job->records[i];
        if (r->distribution[0] != '\0')
            a->distribution = r->distribution;
    }
}

/* Tasks of all parts of the job, from the first file that has them. */
static int64_t tasks_of(const struct job *job)
{
    int64_t tasks = -1;
    const char *label = NULL;
    for (size_t i = 0; i < job->count; i++) {
        const struct job_record *r = &job->records[i];
        if (r->tasks < 0 || (label != NULL && r->label != label))
            continue;
        label = r->label;
        tasks = (tasks < 0 ? 0 : tasks) + r->tasks;
    }
    return tasks;
}

/* ---- by name ---- */

static bool same_host(const char *a, const char *b)
{
    size_t na = strcspn(a, "."), nb = strcspn(b, ".");
    return na > 0 && na == nb && strncasecmp(a, b, na) == 0;
}

static int node_of_host(const struct apply *a, const char *host)
{
    for (size_t i = 0; i < a->n; i++) {
        if (same_host(host, a->nodes[i].name) || same_host(host, a->nodes[i].host))
            return (int)i;
    }
    return -1;
}

/* Returns how many ranks have a host that is known; notes the others, if there are some. */
static size_t assign_by_name(struct apply *a)
{
    const struct run *run = a->run;
    const struct rank *stranger = NULL;
    size_t found = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        bool same = r > 0 && run->ranks[r].host == run->ranks[r - 1].host;
        a->node_of[r] = same ? a->node_of[r - 1] : node_of_host(a, run->ranks[r].host);
        found += a->node_of[r] >= 0;
        if (a->node_of[r] < 0 && run->ranks[r].host[0] != '\0' && stranger == NULL)
            stranger = &run->ranks[r];
    }
    if (found > 0 && stranger != NULL)
        run_note(a->run, false, "%s: host '%s' of rank %d is none of the job's nodes", a->label,
                 stranger->host, stranger->rank);
    return found;
}

/* Notes nodes of the job that no rank is on, where all ranks have a trace. */
static void note_idle_nodes(const struct apply *a)
{
    bool *used = array_new(a->n, sizeof *used);
    size_t nodes = 0;
    for (size_t r = 0; r < a->run->nranks; r++) {
        if (a->node_of[r] >= 0)
            used[a->node_of[r]] = true;
    }
    for (size_t i = 0; i < a->n; i++)
        nodes += used[i];
    if (nodes < a->n && a->run->nranks == (size_t)a->run->world_size)
        run_note(a->run, false, "%s: the job has %zu %s, and the traces' ranks are on %zu of them",
                 a->label, a->n, a->pods ? "pods" : "nodes", nodes);
    free(used);
}

/* ---- by number ---- */

/* Sets how many ranks each node has, where the numbers say so. False, with a note: they do not. */
static bool count_ranks(const struct apply *a, int64_t *each, bool *assumed)
{
    const int64_t world = a->run->world_size, n = (int64_t)a->n;
    int64_t sum = 0;
    bool all = true, ones = true;
    for (size_t i = 0; i < a->n; i++) {
        all = all && a->nodes[i].tasks > 0;
        ones = ones && a->nodes[i].tasks == 1;
        sum += a->nodes[i].tasks;
        each[i] = a->nodes[i].tasks;
    }
    *assumed = !all || sum != world;
    if (all && sum == world)
        return true;
    int64_t tasks = all ? sum : a->tasks;
    if (tasks >= 0 && tasks != world && tasks != n) {
        run_note(
            a->run, false,
            "%s: the job has %lld tasks on %zu node%s, and the traces are of %lld ranks: nodes "
            "are not named",
            a->label, (long long)tasks, a->n, a->n == 1 ? "" : "s", (long long)world);
        return false;
    }
    if (world % n != 0 || (all && !ones)) {
        run_note(a->run, false,
                 "%s: %lld ranks on %zu %s: how many each has is not told (SLURM_TASKS_PER_NODE "
                 "is)",
                 a->label, (long long)world, a->n, a->pods ? "pods" : "nodes");
        return false;
    }
    for (size_t i = 0; i < a->n; i++)
        each[i] = world / n;
    return true;
}

struct assigned_host {
    const char *host;
    int node, rank;
};

static int by_host(const void *pa, const void *pb)
{
    const struct assigned_host *a = pa, *b = pb;
    int order = strcmp(a->host, b->host);
    return order != 0 ? order : ORDER(a->rank, b->rank);
}

/* Returns whether no host of the traces would be on two nodes; notes where it would. */
static bool hosts_agree(const struct apply *a)
{
    const struct run *run = a->run;
    struct assigned_host *list = array_new(run->nranks, sizeof *list);
    bool agree = true;
    for (size_t r = 0; r < run->nranks; r++)
        list[r] = (struct assigned_host){run->ranks[r].host, a->node_of[r], run->ranks[r].rank};
    qsort(list, run->nranks, sizeof *list, by_host);
    for (size_t i = 1; i < run->nranks && agree; i++) {
        const struct assigned_host *one = &list[i - 1], *other = &list[i];
        agree =
            one->host[0] == '\0' || one->node == other->node || strcmp(one->host, other->host) != 0;
        if (!agree)
            run_note(a->run, false,
                     "%s: by the order of tasks, ranks %d and %d of host '%s' are on two nodes: "
                     "nodes are not named",
                     a->label, one->rank, other->rank, one->host);
    }
    free(list);
    return agree;
}

/* A host that is called as the job's nodes are, but for its number, is a node of another job. */
static bool is_other_node(const struct apply *a, const char *host)
{
    for (size_t i = 0; i < a->n && !a->pods; i++) {
        const char *node = a->nodes[i].name;
        size_t letters = strcspn(node, "0123456789");
        if (letters > 0 && letters == strcspn(host, "0123456789") &&
            strncasecmp(host, node, letters) == 0)
            return true;
    }
    return false;
}

/* Returns whether hosts of the traces are other nodes; notes it. */
static bool on_other_nodes(const struct apply *a)
{
    for (size_t r = 0; r < a->run->nranks; r++) {
        const struct rank *rank = &a->run->ranks[r];
        if (rank->host[0] == '\0' || !is_other_node(a, rank->host))
            continue;
        run_note(a->run, false,
                 "%s: the traces are of other nodes than the job's: rank %d is on '%s'", a->label,
                 rank->rank, rank->host);
        return true;
    }
    return false;
}

static bool assign_by_number(struct apply *a)
{
    struct run *run = a->run;
    int64_t *each = array_new(a->n, sizeof *each), end = 0;
    bool assumed, placed = false;
    size_t at = 0;
    if (on_other_nodes(a)) {
        /* noted */
    } else if (a->distribution[0] != '\0' && strncmp(a->distribution, "block", 5) != 0) {
        run_note(run, false, "%s: tasks are distributed by '%s': nodes of ranks are not told",
                 a->label, a->distribution);
    } else if (a->pods && a->n > 1 && a->nodes[0].index < 0) {
        run_note(run, false, "%s: no label numbers the pods, and no host is one of them", a->label);
    } else if (count_ranks(a, each, &assumed)) {
        end = each[0];
        for (size_t r = 0; r < run->nranks; r++) {
            while (at + 1 < a->n && run->ranks[r].rank >= end)
                end += each[++at];
            a->node_of[r] = (int)at;
        }
        placed = hosts_agree(a);
        if (placed)
            run_note(run, false, "%s: ranks fill the job's %s in order: %lld on the first%s",
                     a->label, a->pods ? "pods" : "nodes", (long long)each[0],
                     assumed ? ", and as many on the others (assumed)" : "");
    }
    free(each);
    return placed;
}

/* ---- to the run ---- */

/* Pods that wait have no node. */
static bool has_nodes(const struct apply *a)
{
    for (size_t i = 0; i < a->n; i++) {
        if (a->nodes[i].name[0] != '\0')
            return true;
    }
    return false;
}

static void name_nodes(const struct apply *a)
{
    struct run *run = a->run;
    const bool all = run_recorded_ranks(run) == run->nranks;
    for (size_t r = 0; r < run->nranks; r++) {
        const char *node = a->node_of[r] >= 0 ? a->nodes[a->node_of[r]].name : "";
        struct rank *rank = &run->ranks[r];
        if (node[0] == '\0')
            continue;
        rank->host = node;
        if (rank->domain >= 0 && rank->domain < run->ndomains &&
            (all || rank->nops > 0)) /* else of a domain for want of one (align.c) */
            run->domains[rank->domain].host = node;
        run->name_nodes = true;
    }
}

void job_apply(struct run *run)
{
    struct apply a = {.run = run, .distribution = "", .label = ""};
    struct buf text = BUF_INIT;
    int64_t own = slurm_id(run->id), key;
    if (run->job == NULL || run->job->count == 0 || run->nranks == 0 || !choose_job(run))
        return;
    job_text(&text, run->job);
    key = job_best_record(run->job)->id;
    if (own >= 0 && key >= 0 && own != key && own != job_key(job_best_record(run->job))) {
        run_note(run, false, "%s: job %lld, and the traces are of job %lld: not used",
                 run->job->records[0].label, (long long)key, (long long)own);
    } else {
        if (!job_best_record(run->job)->bare) {
            run->job_note = arena_strdup(&run->arena, text.data);
            run_note(run, false, "%s", text.data);
        }
        collect_nodes(&a, run->job);
        a.tasks = tasks_of(run->job);
        a.node_of = array_new(run->nranks, sizeof *a.node_of);
        if (has_nodes(&a)) {
            bool by_name = assign_by_name(&a) > 0;
            if (by_name)
                note_idle_nodes(&a);
            if (by_name || assign_by_number(&a))
                name_nodes(&a);
        }
        free(a.node_of);
        free(a.owned);
    }
    buf_release(&text);
}

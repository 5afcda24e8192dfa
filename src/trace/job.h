/* SPDX-License-Identifier: MIT
 *
 * Reads files that a cluster's scheduler wrote about the job whose traces a run holds, and that lie
 * beside the traces. They name the node of each rank where traces do not, and say how the job
 * ended.
 *
 *     scontrol show job ID [--json]     squeue --json and sacct --json are alike
 *     env | grep SLURM                  in the job
 *     scontrol show hostnames           in a file that is called hostnames, nodelist or hostfile
 *     kubectl get pods -o json          of the job's pods
 *
 * A file is one or more records, each a job or a part of one (of a heterogeneous job, of an array);
 * of several files they are put together. job_apply() chooses those of the run.
 */
#ifndef SPECTER_TRACE_JOB_H
#define SPECTER_TRACE_JOB_H

#include "base/buf.h"
#include "trace/run.h"

#include <stddef.h>
#include <stdint.h>

/* A node, or a pod on one; the order is that of ranks. */
struct job_node {
    const char *name;  /* "" a pod that has none yet */
    const char *host;  /* of a pod: its host name, which traces have; else "" */
    const char *pod;   /* its name; else "" */
    const char *cause; /* why it ended where that is no success: "OOMKilled"; "" */
    const char *phase; /* "Running"; "" of a node */
    int64_t index;     /* of a pod: its number among them; -1 unknown */
    int64_t tasks;     /* ranks that were started there; 0 unknown */
    int exit_code;     /* with cause */
};

/* Texts are the run's; what is unknown is "", numbers -1. */
struct job_record {
    const char *label; /* of the file */
    bool pods;         /* of Kubernetes, else of Slurm */
    bool bare;         /* names of nodes alone */
    const char *name, *partition, *state, *reason, *nodelist;
    const char *run_time, *distribution;
    int64_t id, array_id, array_task, het_id, het_offset;
    int64_t tasks, exit_code, signal;
    int64_t seconds;        /* of run_time, where the form has numbers */
    struct job_node *nodes; /* owned */
    size_t nnodes, cap_nodes;
};

/* Larger numbers are not believed: Slurm's have 32 bits, and so have times until 2106. */
#define JOB_NUMBER_MAX INT64_C(0xffffffff)

struct job {
    struct job_record *records; /* owned */
    size_t count, cap;
};

/* For readers: a record of which nothing is known; the pointer holds until the next. */
struct job_record *job_add_record(struct run *run, const char *label);
struct job_node *job_add_node(struct job_record *r, const char *name);
void job_free(struct job *job); /* NULL is allowed */

/* Slurm's or Kubernetes' JSON (job_json.c). 0, or -1 with e filled. Text that is damaged after a
 * first record: 0, what came before is kept, and the run has a note. */
int job_read_json(struct run *run, const char *label, const struct buf *text, struct err *e);

/* Sets the nodes of a record by Slurm's list of names, and the tasks of each, where `tasks` is not
 * NULL. -1: no such lists. */
int job_set_nodes(struct run *run, struct job_record *r, const char *nodes, const char *tasks);

/* The number of the whole job, of which a record may be a part; -1 unknown. */
int64_t job_key(const struct job_record *r);

/* The record that says most of how the job went; there must be one. */
const struct job_record *job_best_record(const struct job *job);

/* Puts in one line what is known of a job, without a full stop: "Slurm says: job 123 ...". */
void job_text(struct buf *out, const struct job *job);

/* After run_finish(): names the node of each rank where the records name it, and notes what they
 * say, and what contradicts the traces. */
void job_apply(struct run *run);

/* ---- lists of nodes ----
 *
 * Slurm's short forms of lists: names of nodes ("nid[001-003,007],x1", also with several brackets)
 * and tasks of each ("4(x2),3"). */

#define HOSTLIST_MAX 65536    /* names in one list */
#define HOSTLIST_NAME_MAX 255 /* bytes of one */

/* Calls `add` with each name, valid during the call, in the list's order. 0; -1 where the text is
 * no such list or has too many or too long names: those before have been given. */
int hostlist_expand(const char *text, size_t len, void (*add)(void *arg, const char *name),
                    void *arg);

/* Calls `add` with the number of each node, in order. 0; -1 likewise. */
int tasklist_expand(const char *text, size_t len, void (*add)(void *arg, int64_t tasks), void *arg);

#endif

/* SPDX-License-Identifier: MIT
 *
 * For capture.c: which of several captures of one job step speaks (capture_step.c), and traces that
 * are recorded on a node's own disk (capture_local.c).
 *
 * A launcher may start several captures side by side: `srun specter capture -- python train.py` in
 * a step of several tasks, or Open MPI's mpirun. Their traces are one run of one name, and the last
 * of them to end speaks for all: while others run, their traces have no end yet.
 *
 * The captures meet in a hidden folder beside the traces, where each that ends takes the lowest
 * free number by making a file that must not exist, which is atomic on network file systems, too.
 *
 *     struct capture_step step;
 *     capture_step_read(&step);
 *     capture_step_begin(&step, "/data/traces");
 *     ... the program runs ...
 *     if (capture_step_end(&step) != STEP_GOES_ON) ...
 */
#ifndef SPECTER_CMD_CAPTURE_H
#define SPECTER_CMD_CAPTURE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct capture_step {
    bool shared;       /* one of several; else this capture speaks for itself */
    bool inner;        /* below another capture of the step, which counts for the task */
    char run[160];     /* the name that all of them give the run: "123.0" */
    char node[64];     /* what tells this node from the others of the step */
    int task;          /* from 0 */
    int tasks;         /* of the step */
    int node_tasks;    /* of them on this node; equal to tasks where the step has one node */
    bool leads_node;   /* the first task of its node */
    double begun_s;    /* now_s() */
    int folder;        /* descriptor; -1: none */
    char at[PATH_MAX]; /* its path */
};

enum capture_step_place {
    STEP_GOES_ON,      /* others have yet to end, or another capture speaks */
    STEP_LAST,         /* all have ended, or this capture is alone */
    STEP_LAST_OF_NODE, /* all of this node have; the folder is this node's own */
};

/* Reads the variables of Slurm or Open MPI. */
void capture_step_read(struct capture_step *s);

/* Makes the folder in `dir`, which exists. Where that fails this capture speaks for itself. */
void capture_step_begin(struct capture_step *s, const char *dir);

/* Once the program and what follows it are done; the last one removes the folder. */
enum capture_step_place capture_step_end(struct capture_step *s);

/* ---- capture_local.c ----
 *
 * Traces that are recorded on a node's own disk and gathered when the program has ended (`specter
 * capture --local`). Nothing is overwritten where they go, and what cannot be gathered stays where
 * it was recorded.
 *
 *     struct local_traces l;
 *     if (local_traces_begin(&l, "/local/scratch", "123.0", "/data/traces", e) < 0) ...
 *     ... the program writes into l.dir ...
 *     local_traces_gather(&l);          while it ends, once or often
 *     local_traces_end(&l, &why); */

/* One file on its way. */
struct local_trace {
    char name[256];        /* in the local folder */
    int out;               /* where it goes; -1: not begun, or it cannot be */
    char out_name[256];    /* there */
    off_t copied;          /* bytes that have gone there */
    struct timespec mtime; /* of the local file when they did */
};

struct local_traces {
    char dir[PATH_MAX]; /* the folder that was made for this capture; "": none */
    char to[PATH_MAX];
    struct local_trace *list; /* owned */
    size_t count, cap;
    int error; /* errno of the last copy that failed; 0: none */
};

/* Makes a folder of this capture's own (0700) in `local`, which must exist: a disk that is not
 * mounted on this node would else be mistaken for one. 0, or -1 with e filled. To be ended by
 * local_traces_end() in either case. */
int local_traces_begin(struct local_traces *l, const char *local, const char *run, const char *to,
                       struct err *e);

/* Copies what is new since the last call. A program may go on writing meanwhile. */
void local_traces_gather(struct local_traces *l);

/* Copies what is there in full and removes the local folder; nothing is done where there is none.
 * 0, or -1 with e filled: some file stays where it was recorded; so does one that a process of the
 * program still writes. */
int local_traces_end(struct local_traces *l, struct err *e);

#endif

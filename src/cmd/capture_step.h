/* SPDX-License-Identifier: MIT
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
#ifndef SPECTER_CMD_CAPTURE_STEP_H
#define SPECTER_CMD_CAPTURE_STEP_H

#include <limits.h>
#include <stdbool.h>

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

#endif

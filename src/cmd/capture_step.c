/* SPDX-License-Identifier: MIT
 *
 * Finds the capture that prints for all captures of one job step: that of the task that ends last
 * (capture.h).
 */
#include "cmd/capture.h"

#include "base/launcher.h"
#include "base/now.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER ".specter_step-"
#define ENDED "ended."
#define NODE "node."

#define SHORT_S 60 /* a program that ends sooner may end before another node's tasks have begun */
#define START_S 2  /* by which the tasks of one node may begin later than those of another */

static const char *env(const char *name)
{
    const char *value = launcher_env(name);
    return value != NULL ? value : "";
}

/* -1: not there, or no number. */
static int number(const char *name)
{
    const char *text = env(name);
    char *end;
    long n = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && n <= INT_MAX ? (int)n : -1;
}

/* Of a list such as "4(x2),3" the number of node `index`; -1: not understood. */
static int tasks_of_node(const char *list, int index)
{
    while (index >= 0 && *list >= '0' && *list <= '9') {
        char *end;
        long tasks = strtol(list, &end, 10), nodes = 1;
        if (end[0] == '(' && end[1] == 'x')
            nodes = strtol(end + 2, &end, 10);
        if (index < nodes)
            return tasks <= INT_MAX ? (int)tasks : -1;
        index -= (int)nodes;
        end += *end == ')';
        list = end + (*end == ',');
    }
    return -1;
}

static void read_launcher(struct capture_step *s, const struct launcher *l)
{
    s->task = number(l->rank);
    s->tasks = number(l->world);
    s->node_tasks = number(l->local_world);
    s->leads_node = number(l->local_rank) == 0;
}

/* Processes of mpirun. srun sets PMIX_NAMESPACE, too, but not the other variables. */
static bool read_open_mpi(struct capture_step *s)
{
    read_launcher(s, &launchers[LAUNCHER_OPEN_MPI]);
    if (s->task < 0 || s->tasks < 2 || s->node_tasks < 1 || *env("PMIX_NAMESPACE") == '\0')
        return false;
    snprintf(s->run, sizeof s->run, "%s", env("PMIX_NAMESPACE"));
    if (gethostname(s->node, sizeof s->node - 1) < 0)
        return false;
    s->node[sizeof s->node - 1] = '\0';
    return true;
}

/* After a requeue Slurm numbers the steps of the job from 0 again. torchrun starts several
 * processes in one task; their captures speak for themselves. */
static bool read_slurm(struct capture_step *s)
{
    int restarts = number("SLURM_RESTART_COUNT");
    read_launcher(s, &launchers[LAUNCHER_SRUN]);
    s->node_tasks = tasks_of_node(env("SLURM_STEP_TASKS_PER_NODE"), number("SLURM_NODEID"));
    if (s->task < 0 || s->tasks < 2 || number("SLURM_STEP_ID") < 0 ||
        *env("SLURM_JOB_ID") == '\0' || *env("TORCHELASTIC_RUN_ID") != '\0')
        return false;
    if (s->node_tasks < 1)
        s->node_tasks = s->tasks;
    snprintf(s->run, sizeof s->run, "%.64s.%.64s", env("SLURM_JOB_ID"), env("SLURM_STEP_ID"));
    if (restarts > 0)
        snprintf(s->run + strlen(s->run), sizeof s->run - strlen(s->run), ".restart%d", restarts);
    snprintf(s->node, sizeof s->node, "%.32s", env("SLURM_NODEID"));
    return true;
}

void capture_step_read(struct capture_step *s)
{
    memset(s, 0, sizeof *s);
    s->folder = -1;
    s->shared = read_open_mpi(s) || read_slurm(s);
    if (!s->shared)
        *s = (struct capture_step){.tasks = 1, .node_tasks = 1, .leads_node = true, .folder = -1};
    for (char *p = s->run; *p != '\0'; p++) {
        if (*p == '/')
            *p = '_'; /* it becomes part of a file name */
    }
    s->inner = s->shared && strcmp(env("SPECTER_RUN"), s->run) == 0;
}

static bool make_file(const struct capture_step *s, const char *name)
{
    int fd = openat(s->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void capture_step_begin(struct capture_step *s, const char *dir)
{
    char name[sizeof NODE + sizeof s->node];
    s->begun_s = now_s();
    if (!s->shared || s->inner)
        return;
    /* The port of the step's launcher tells this step from one of the same number that was killed
     * and has left its folder. */
    if (snprintf(s->at, sizeof s->at, "%s/" FOLDER "%s-%d", dir, s->run,
                 number("SLURM_STEP_LAUNCHER_PORT")) >= (int)sizeof s->at)
        return;
    mkdir(s->at, 0700); /* one of the tasks does; what matters shows when it is opened */
    s->folder = open(s->at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->folder < 0 || !s->leads_node)
        return;
    snprintf(name, sizeof name, NODE "%s", s->node);
    make_file(s, name);
}

/* The files whose names begin so; those of `except` do not count. */
static int count_files(const struct capture_step *s, const char *prefix, const char *except)
{
    const struct dirent *entry;
    DIR *d = opendir(s->at);
    int n = 0;
    while (d != NULL && (entry = readdir(d)) != NULL)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
             strcmp(entry->d_name + strlen(prefix), except) != 0;
    if (d != NULL)
        closedir(d);
    return n;
}

/* Returns the number of tasks that have ended, this one among them. A list of the folder may be
 * old, so it tells only from which number on to try. */
static int take_number(const struct capture_step *s)
{
    char name[32];
    int n = count_files(s, ENDED, "");
    for (; n < s->tasks; n++) {
        snprintf(name, sizeof name, ENDED "%d", n + 1);
        if (make_file(s, name))
            return n + 1;
        if (errno != EEXIST)
            break;
    }
    return s->tasks; /* better a line too many than none */
}

/* Returns whether captures of another node meet in the same folder. */
static bool other_node_is_here(const struct capture_step *s)
{
    const struct timespec tick = {0, 50000000};
    double until_s = now_s() + (now_s() - s->begun_s < SHORT_S ? START_S : 0);
    while (count_files(s, NODE, s->node) == 0) {
        if (now_s() >= until_s)
            return false;
        nanosleep(&tick, NULL);
    }
    return true;
}

static void remove_folder(const struct capture_step *s)
{
    const struct dirent *entry;
    DIR *d = opendir(s->at);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (strncmp(entry->d_name, ENDED, strlen(ENDED)) == 0 ||
            strncmp(entry->d_name, NODE, strlen(NODE)) == 0)
            unlinkat(s->folder, entry->d_name, 0);
    }
    if (d != NULL)
        closedir(d);
    rmdir(s->at);
}

enum capture_step_place capture_step_end(struct capture_step *s)
{
    enum capture_step_place place = STEP_GOES_ON;
    int ended;
    if (!s->shared)
        return STEP_LAST;
    if (s->inner)
        return STEP_GOES_ON;
    if (s->folder < 0)
        return STEP_LAST;
    ended = take_number(s);
    if (ended == s->tasks)
        place = STEP_LAST;
    else if (ended == s->node_tasks && s->node_tasks < s->tasks && !other_node_is_here(s))
        place = STEP_LAST_OF_NODE;
    if (place != STEP_GOES_ON)
        remove_folder(s);
    close(s->folder);
    s->folder = -1;
    return place;
}

/* SPDX-License-Identifier: MIT
 *
 * Which part of a job this process does: --shard I/N, or auto, where the launcher of several
 * processes says so in the environment.
 */
#ifndef SPECTER_CMD_SHARD_H
#define SPECTER_CMD_SHARD_H

#include <stdint.h>

struct err;

struct shard {
    int64_t part, parts; /* part is from 1 */
};

/* text: "I/N", "auto", or NULL (the whole). With auto: the tasks of mpirun, of another launcher of
 * MPI, or of a Slurm job step, where there are several; else the elements of a Slurm job array;
 * else the pods of an indexed Kubernetes job (JOB_COMPLETION_INDEX, and JOB_COMPLETIONS, which the
 * pod must export: Kubernetes does not). 0, or -1 with e filled (ERR_USAGE). */
int shard_read(const char *text, int64_t most, struct shard *out, struct err *e);

/* The name of the shard's own file, malloc'ed: {shard} in it becomes the part's number. NULL: NULL.
 */
char *shard_file(const char *name, const struct shard *shard);

#endif

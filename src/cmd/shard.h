/* SPDX-License-Identifier: MIT
 *
 * Several processes that share the work of one command: each point of a `sweep` is one's, and a run
 * is read by all: `analyze`, `metrics` and `export` with --shard write what they read of their
 * share of the files, and `specter merge` answers from all shards.
 *
 * A shard is a line of JSON (schema specter.shard/1: version, command, path, run, part, parts,
 * files) and the records of trace/share.h.
 */
#ifndef SPECTER_CMD_SHARD_H
#define SPECTER_CMD_SHARD_H

#include "base/arena.h"
#include "base/opt.h"
#include "trace/share.h"

#include <stdint.h>

/* The part of a job that this process does: --shard I/N, or auto, where the launcher of several
 * processes says so in the environment. */
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

/* ---- a run in shards ---- */

struct shard_opts {
    const char *shard, *dir; /* shard NULL: the whole run, by this process */
};

#define SHARD_FOLDER "specter_shards"
#define SHARDS_MAX 65536

/* Their rows; member: of `type`, a struct shard_opts. */
#define SHARD_ROWS(type, member)                                                       \
    {"shard",                                                                          \
     0,                                                                                \
     OPT_STR,                                                                          \
     offsetof(type, member.shard),                                                     \
     "I/N|auto",                                                                       \
     "read share I of N of the files alone and keep it for 'specter merge'; auto: as " \
     "srun, mpirun, a job array or Kubernetes says"},                                  \
    {                                                                                  \
        "shard-dir", 0, OPT_STR, offsetof(type, member.dir), "DIR",                    \
            "where shards are kept (default: ./" SHARD_FOLDER ")"                      \
    }

/* Reads the share and keeps it; one that is there, of the same files, is left as it is. Says so in
 * a line on stderr. Returns the command's status. */
int shard_write(const char *command, const char *path, const char *run_id,
                const struct shard_opts *opts, struct err *e);

/* Fills e for an option about the answer, which shard_write()'s command does not give. Returns
 * ERR_USAGE. */
int shard_no_answer(struct err *e);

struct shard_header {
    const char *label, *command, *path, *run_id; /* in the arena; run_id NULL: the newest */
    int64_t part, parts;
    const char *version, *files;
};

/* All shards of one run, from files and folders of them. */
struct shards {
    struct shard_header of;    /* what all have in common */
    struct load_shared shared; /* for load_opts */
    struct shard_map *maps;    /* owned; the files' bytes */
    size_t count, cap;
    struct arena arena;
};

/* 0, or -1 with e filled (ERR_INPUT): a file is no shard, or damaged; one is missing or there
 * twice; they are of two runs. To be released in either case. */
int shards_open(struct shards *s, char **paths, int n, struct err *e);
void shards_release(struct shards *s);

#endif

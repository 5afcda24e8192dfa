/* SPDX-License-Identifier: MIT */
#include "bench/place.h"

#include "base/hash.h"
#include "base/opt.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The variables of a launcher. `needed`: the process belongs to it where this one is set, too. */
struct launcher {
    const char *name, *rank, *world, *local_rank, *local_world, *needed;
};

/* mpirun may run in a job step (srun --pty bash), so its variables come before Slurm's. srun sets
 * PMI_RANK, too (--mpi=pmi2), but MPI_LOCALRANKID only MPI's own launchers do. */
static const struct launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    {"MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
    /* A batch script has SLURM_PROCID, too; only a job step's tasks have SLURM_STEP_ID. */
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_ID"},
    {"MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL},
};

/* Names of the job that all of its processes have alike. */
static const char *const job_names[] = {
    BENCH_ENV_NONCE,           "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID",
    "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE",      "PMI_JOBID",
};

static const char *env(const char *name)
{
    const char *value = name != NULL ? getenv(name) : NULL;
    return value != NULL && *value != '\0' ? value : NULL;
}

/* ---- hosts ---- */

/* Copies the first name of a bracket, "07-09,12]rest" -> "07", and moves *list behind the bracket.
 * false: the bracket is never closed or empty. */
static bool copy_first(const char **list, char *host, size_t size, size_t *used)
{
    const char *end = strchr(*list, ']');
    size_t digits = strspn(*list, "0123456789");
    if (end == NULL || digits == 0 || *used + digits >= size)
        return false;
    memcpy(host + *used, *list, digits);
    *used += digits;
    *list = end + 1;
    return true;
}

int bench_place_first_host(const char *list, char *host, size_t size)
{
    size_t used = 0;
    while (*list != '\0' && *list != ',') {
        unsigned char c = (unsigned char)*list++;
        if (c == '[') {
            if (!copy_first(&list, host, size, &used))
                return -1;
        } else if ((!isalnum(c) && c != '-' && c != '.' && c != '_') || used + 1 >= size) {
            return -1;
        } else {
            host[used++] = (char)c;
        }
    }
    host[used] = '\0';
    return used > 0 ? 0 : -1;
}

/* Rank 0's machine: as the environment names it, the first of Slurm's list, or this one. */
static int find_master(struct bench_place *p, struct err *e)
{
    const char *named = env("MASTER_ADDR"), *list = env("SLURM_STEP_NODELIST");
    if (list == NULL)
        list = env("SLURM_JOB_NODELIST");
    if (named == NULL && list != NULL && strcmp(p->launcher, "srun") == 0) {
        if (bench_place_first_host(list, p->master, sizeof p->master) == 0)
            return 0;
        return err_set(e, ERR_USAGE,
                       "the list of nodes '%s' is not understood: export MASTER_ADDR=HOST, the "
                       "machine of rank 0",
                       list);
    }
    if (named == NULL && p->world != p->local_world)
        return err_set(e, ERR_USAGE,
                       "where rank 0 runs is not known: export MASTER_ADDR=HOST, the machine of "
                       "rank 0, for every rank");
    if (named != NULL && strlen(named) >= sizeof p->master)
        return err_set(e, ERR_USAGE, "MASTER_ADDR: the name '%.40s' is too long", named);
    snprintf(p->master, sizeof p->master, "%s", named != NULL ? named : "127.0.0.1");
    return 0;
}

static int read_number(const char *name, int64_t least, int64_t most, int *value, struct err *e)
{
    int64_t number;
    if (opt_parse_i64(name, env(name), &number, e) < 0)
        return -1;
    if (number < least || number > most)
        return err_set(e, ERR_USAGE, "%s=%s is out of range", name, env(name));
    *value = (int)number;
    return 0;
}

/* torchrun's own store listens on MASTER_PORT while its processes run: ours listens on the next. */
static int find_port(struct bench_place *p, struct err *e)
{
    p->port = BENCH_PORT;
    if (env("MASTER_PORT") == NULL)
        return 0;
    if (read_number("MASTER_PORT", 1, 65534, &p->port, e) < 0)
        return -1;
    p->port += env("TORCHELASTIC_RUN_ID") != NULL;
    return 0;
}

/* ---- ranks ---- */

static int read_launcher(const struct launcher *l, struct bench_place *p, struct err *e)
{
    const int most = 1 << 24;
    if (env(l->world) == NULL)
        return err_set(e, ERR_USAGE, "%s is set and %s is not: export %s=N, the number of ranks",
                       l->rank, l->world, l->world);
    if (read_number(l->world, 1, most, &p->world, e) < 0 ||
        read_number(l->rank, 0, p->world - 1, &p->rank, e) < 0)
        return -1;
    if (env(l->local_rank) != NULL && read_number(l->local_rank, 0, most, &p->local_rank, e) < 0)
        return -1;
    if (env(l->local_world) != NULL && read_number(l->local_world, 1, most, &p->local_world, e) < 0)
        return -1;
    p->launched = true;
    p->launcher = env(BENCH_ENV_NONCE) != NULL ? "specter" : l->name;
    return 0;
}

/* Two hashes of the same names that begin differently. */
static void make_nonce(struct bench_place *p)
{
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t hash = hash_mix(HASH_BYTES + half, (uint64_t)p->world);
        for (size_t i = 0; i < sizeof job_names / sizeof *job_names; i++) {
            const char *value = env(job_names[i]);
            hash = hash_mix(hash, i);
            if (value != NULL)
                hash = hash_bytes(hash, value, strlen(value));
        }
        p->nonce[half] = hash_mix(hash, half);
    }
}

int bench_place_read(struct bench_place *place, struct err *e)
{
    *place = (struct bench_place){.world = 1, .launcher = "", .local_rank = -1, .local_world = -1};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !place->launched; i++) {
        const struct launcher *l = &launchers[i];
        if (env(l->rank) == NULL || (l->needed != NULL && env(l->needed) == NULL))
            continue;
        if (read_launcher(l, place, e) < 0)
            return -1;
    }
    make_nonce(place);
    if (!place->launched) {
        place->local_rank = 0;
        place->local_world = 1;
    }
    return find_port(place, e) < 0 || find_master(place, e) < 0 ? -1 : 0;
}

/* SPDX-License-Identifier: MIT */
#include "base/launcher.h"

#include <stddef.h>
#include <stdlib.h>

/* mpirun may run in a job step (srun --pty bash), so its variables come before Slurm's. srun sets
 * PMI_RANK, too (--mpi=pmi2), but MPI_LOCALRANKID only MPI's own launchers do. A batch script has
 * SLURM_PROCID, too; only a job step's tasks have SLURM_STEP_ID. */
const struct launcher launchers[LAUNCHER_COUNT] = {
    [LAUNCHER_TORCHRUN] = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL,
                           NULL, NULL},
    [LAUNCHER_OPEN_MPI] = {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, NULL,
                           NULL},
    [LAUNCHER_MPI] = {"MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                      "MPI_LOCALRANKID", NULL, NULL},
    [LAUNCHER_SRUN] = {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL,
                       "SLURM_STEP_ID", NULL, NULL},
    [LAUNCHER_PMI] = {"MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL,
                      NULL, NULL},
    [LAUNCHER_JOB_ARRAY] = {"a job array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", NULL,
                            NULL, NULL, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"},
    [LAUNCHER_KUBERNETES] = {"Kubernetes", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", NULL, NULL,
                             NULL, NULL, NULL},
};

const char *launcher_env(const char *name)
{
    const char *value = name != NULL ? getenv(name) : NULL;
    return value != NULL && *value != '\0' ? value : NULL;
}

bool launcher_started(const struct launcher *l)
{
    return launcher_env(l->rank) != NULL && (l->needed == NULL || launcher_env(l->needed) != NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * See start.h.
 */
#include "start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

int env_number(const char *name, int otherwise)
{
    const char *value = getenv(name);

    return value && *value ? (int)strtol(value, NULL, 10) : otherwise;
}

/* Rank 0 writes the id beside the file and renames it, so that others never read half of it. */
static void publish_id(const ncclUniqueId *id, const char *path)
{
    char made[4096];
    FILE *file;

    if (snprintf(made, sizeof(made), "%s.%d", path, (int)getpid()) >= (int)sizeof(made))
        fail(path, "name too long");
    file = fopen(made, "wb");
    if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) != 0 ||
        rename(made, path) != 0)
        fail(path, strerror(errno));
}

static void read_id(ncclUniqueId *id, const char *path)
{
    const struct timespec pause = {0, 2000000};

    for (int tries = 0; tries < 30000; tries++) {
        FILE *file = fopen(path, "rb");

        if (file) {
            size_t got = fread(id, sizeof(*id), 1, file);

            fclose(file);
            if (got == 1)
                return;
        }
        nanosleep(&pause, NULL);
    }
    fail(path, "no unique id came in a minute");
}

ncclComm_t join_all(int rank, int world, const char *id_file)
{
    ncclUniqueId id;
    ncclComm_t all;

    if (rank == 0)
        NCCL(ncclGetUniqueId(&id));
    if (world > 1 && !id_file)
        fail("--id", "needed with more than one rank");
    if (world > 1 && rank == 0)
        publish_id(&id, id_file);
    else if (world > 1)
        read_id(&id, id_file);
    NCCL(ncclCommInitRank(&all, world, id, rank));
    return all;
}

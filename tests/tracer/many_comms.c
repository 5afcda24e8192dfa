/* SPDX-License-Identifier: MIT
 *
 * More communicators than a job has, over libraries whose functions return at once
 * (tests/bench/stub.c): `many_comms COUNT alone|grouped` makes COUNT of them, all in one group when
 * grouped, and has two operations on each: an AllReduce of n elements on the n-th, and a Send.
 */
#include <nccl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMS_MAX 10000

static char handles[COMMS_MAX][64]; /* an address is a communicator's */
static ncclComm_t comms[COMMS_MAX];

static void make(int count, int grouped)
{
    ncclUniqueId id;
    memset(&id, 0, sizeof id);
    if (grouped)
        ncclGroupStart();
    for (int i = 0; i < count; i++) {
        comms[i] = (ncclComm_t)handles[i];
        memcpy(&id, &i, sizeof i);
        ncclCommInitRank(&comms[i], 8, id, 0);
    }
    if (grouped)
        ncclGroupEnd();
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? atoi(argv[1]) : 0;
    if (count < 1 || count > COMMS_MAX)
        return 2;
    make(count, strcmp(argv[2], "grouped") == 0);
    for (int i = 0; i < count; i++) {
        ncclAllReduce(NULL, NULL, (size_t)i, ncclFloat32, ncclSum, comms[i], NULL);
        ncclSend(NULL, 1, ncclFloat32, 1, comms[i], NULL);
        if (i % 200 == 0)
            usleep(1000); /* the writer keeps up */
    }
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Two ranks on one device: NCCL refuses them where they are of one node, and takes them where
 * NCCL_HOSTID makes each a node of its own.
 *
 *     check_hosts one|two
 */
#include "check.h"

static ncclResult_t join(ncclComm_t *comm)
{
    OK(cudaSetDevice(0));
    return ncclCommInitRank(comm, check_world(), check_id("hosts"), check_rank());
}

static void refused(void)
{
    ncclComm_t comm = (ncclComm_t)(void *)"unset", all[2];
    const int twice[2] = {0, 0};
    CHECK(join(&comm), ncclInvalidUsage);
    CHECK(comm == NULL, 1);
    if (check_rank() == 0)
        printf("%s\n", ncclGetLastError(NULL));
    CHECK(ncclCommInitAll(all, 2, twice), ncclInvalidUsage);
}

/* A message between them leaves its node: it takes longer than one between two devices of a node.
 */
static void taken(void)
{
    const float mine = (float)check_rank() + 1;
    float sum, *buffer;
    cudaEvent_t begin, end;
    ncclComm_t comm;
    float ms;
    OK(join(&comm));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc((void **)&buffer, 64 << 20));
    OK(cudaMemcpy(buffer, &mine, sizeof mine, cudaMemcpyHostToDevice));
    OK(cudaEventRecord(begin, NULL));
    OK(ncclAllReduce(buffer, buffer, 16 << 20, ncclFloat32, ncclSum, comm, NULL));
    OK(cudaEventRecord(end, NULL));
    OK(cudaMemcpy(&sum, buffer, sizeof sum, cudaMemcpyDeviceToHost));
    OK(cudaEventElapsedTime(&ms, begin, end));
    if (check_rank() == 0)
        printf("sum %g, over the network: %d\n", (double)sum, ms > 64 * 1.048576f / 46 - 0.1f);
    OK(ncclCommDestroy(comm));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "one") == 0)
        refused();
    else
        taken();
    return 0;
}

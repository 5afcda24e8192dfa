/* SPDX-License-Identifier: MIT
 *
 * Groups, handles, non-blocking communicators, several GPUs in one process, and the calls that
 * NCCL makes to itself. Two or more ranks.
 */
#include "check.h"
#include "emu.h"
#include "probe.h"

static cudaStream_t stream, other;
static cudaEvent_t before, after, end;
static float *buffer;
static int broadcasts, unique_ids;

ncclResult_t pncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                            ncclDataType_t datatype, int root, ncclComm_t comm,
                            cudaStream_t stream_);
ncclResult_t pncclGetUniqueId(ncclUniqueId *id);

/* The program's own, which the library's calls to itself reach as they reach a preloaded one. */
ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t on)
{
    broadcasts++;
    return pncclBroadcast(sendbuff, recvbuff, count, datatype, root, comm, on);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    unique_ids++;
    return pncclGetUniqueId(id);
}

static float elapsed(cudaEvent_t from, cudaEvent_t to)
{
    float ms;
    OK(cudaEventElapsedTime(&ms, from, to));
    return ms;
}

/* An event recorded inside the group comes before its kernel, one recorded after it behind. */
static void deferred_launch(ncclComm_t comm)
{
    OK(ncclGroupStart());
    OK(ncclGroupStart());
    OK(cudaEventRecord(before, stream));
    OK(ncclAllReduce(buffer, buffer, 1 << 24, ncclFloat32, ncclSum, comm, stream));
    OK(cudaEventRecord(after, stream));
    OK(ncclGroupEnd());
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventQuery(after));
    OK(ncclGroupEnd());
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(elapsed(before, after) < 0.02f, 1);
    CHECK(elapsed(after, end) > 0.1f, 1);
    CHECK(ncclGroupEnd(), ncclInvalidUsage);
}

/* One kernel for the calls of a communicator, also when they name two streams. */
static void two_streams(ncclComm_t comm)
{
    OK(ncclGroupStart());
    OK(ncclAllReduce(buffer, buffer, 1 << 22, ncclFloat32, ncclSum, comm, stream));
    OK(ncclAllReduce(buffer + (1 << 23), buffer + (1 << 23), 1 << 22, ncclFloat32, ncclSum, comm,
                     other));
    OK(ncclGroupEnd());
    OK(cudaEventRecord(before, stream));
    OK(cudaEventRecord(after, other));
    OK(cudaDeviceSynchronize());
    CHECK(elapsed(before, after) < 0.002f && elapsed(before, after) > -0.002f, 1);
}

static void handles_in_a_group(void)
{
    ncclComm_t comm = NULL, child = NULL;
    ncclUniqueId id = check_id("grouped");
    OK(ncclGroupStart());
    OK(ncclCommInitRank(&comm, check_world(), id, check_rank()));
    CHECK(comm == NULL, 1);
    OK(ncclGroupEnd());
    CHECK(comm != NULL, 1);
    OK(ncclGroupStart());
    OK(ncclCommSplit(comm, 0, 0, &child, NULL));
    CHECK(child == NULL, 1);
    OK(ncclGroupEnd());
    OK(ncclAllReduce(buffer, buffer, 8, ncclFloat32, ncclSum, child, stream));
    OK(ncclCommDestroy(child));
    OK(ncclCommDestroy(comm));
}

static void bad_calls(ncclComm_t comm)
{
    CHECK(ncclAllReduce(buffer, buffer, 8, ncclNumTypes, ncclSum, comm, stream),
          ncclInvalidArgument);
    CHECK(ncclBcast(buffer, 8, ncclInt8, check_world(), comm, stream), ncclInvalidArgument);
    CHECK(ncclSend(buffer, 8, ncclInt8, -1, comm, stream), ncclInvalidArgument);
    CHECK(ncclAllReduce(NULL, buffer, 8, ncclInt8, ncclSum, comm, stream), ncclInvalidArgument);
    OK(ncclGroupStart());
    CHECK(ncclRecv(buffer, 8, ncclInt8, 99, comm, stream), ncclInvalidArgument);
    CHECK(ncclGroupEnd(), ncclInvalidArgument);
}

static void settle(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    for (int polls = 0; state == ncclInProgress; polls++) {
        OK(ncclCommGetAsyncError(comm, &state));
        CHECK(polls > 0 || state == ncclInProgress, 1);
        if (state == ncclInProgress)
            emu_work(3000);
    }
    OK(state);
}

/* Events that a tracer records around a non-blocking group end do not enclose the kernel. */
static void nonblocking(void)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER, bad = {.magic = 1};
    CUevent start, stop;
    ncclComm_t comm;
    int n;
    float ms;
    config.blocking = 0;
    CHECK(ncclCommInitRankConfig(&comm, 1, check_id("bad"), 0, &bad), ncclInvalidArgument);
    CHECK(ncclCommInitRankConfig(&comm, check_world(), check_id("async"), check_rank(), &config),
          ncclInProgress);
    CHECK(ncclCommCount(comm, &n), ncclInvalidArgument);
    settle(comm);
    OK(ncclCommCount(comm, &n));
    CHECK(n, check_world());
    OK(probe_event(&start));
    OK(probe_event(&stop));
    OK(ncclGroupStart());
    OK(probe_record(start, stream));
    OK(ncclAllReduce(buffer, buffer, 1 << 24, ncclFloat32, ncclSum, comm, stream));
    CHECK(ncclGroupEnd(), ncclInProgress);
    OK(probe_record(stop, stream));
    settle(comm);
    OK(cudaStreamSynchronize(stream));
    OK(probe_elapsed(&ms, start, stop));
    CHECK(ms < 0.02f, 1);
    OK(ncclCommDestroy(comm));
}

/* All GPUs of the node in one process. */
static void one_process(void)
{
    ncclComm_t comms[4];
    cudaStream_t streams[4];
    float *sums[4], sum;
    int device;
    unique_ids = 0;
    OK(ncclCommInitAll(comms, 4, NULL));
    CHECK(unique_ids, 1);
    for (int i = 0; i < 4; i++) {
        float mine = (float)i;
        OK(cudaSetDevice(i));
        OK(ncclCommCuDevice(comms[i], &device));
        CHECK(device, i);
        OK(cudaStreamCreate(&streams[i]));
        OK(cudaMalloc((void **)&sums[i], sizeof(float)));
        OK(cudaMemcpy(sums[i], &mine, sizeof mine, cudaMemcpyHostToDevice));
    }
    OK(ncclGroupStart());
    for (int i = 0; i < 4; i++)
        OK(ncclAllReduce(sums[i], sums[i], 1, ncclFloat32, ncclSum, comms[i], streams[i]));
    OK(ncclGroupEnd());
    for (int i = 0; i < 4; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamSynchronize(streams[i]));
        OK(cudaMemcpy(&sum, sums[i], sizeof sum, cudaMemcpyDeviceToHost));
        CHECK(sum, 6);
        OK(ncclCommDestroy(comms[i]));
    }
    OK(cudaSetDevice(check_env("LOCAL_RANK", 0)));
}

int main(void)
{
    ncclComm_t comm = check_comm("group");
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc((void **)&buffer, (size_t)128 << 20));
    deferred_launch(comm);
    two_streams(comm);
    handles_in_a_group();
    bad_calls(comm);
    nonblocking();
    OK(ncclBcast(buffer, 8, ncclFloat32, 0, comm, stream));
    CHECK(broadcasts, 2); /* one of them refused in bad_calls() */
    OK(ncclCommDestroy(comm));
    one_process();
    if (check_rank() == 0)
        puts("groups hold");
    return 0;
}

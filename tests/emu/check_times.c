/* SPDX-License-Identifier: MIT
 *
 * A little of everything, timed by events; prints every virtual time of the rank to PREFIX.<rank>.
 * Two runs must print the same, however the machine is loaded.
 *
 *     check_times PREFIX [ROUNDS]
 */
#include <cublas_v2.h>

#include "check.h"
#include "emu.h"

static ncclComm_t comm, half;
static cudaStream_t compute, side;
static cudaEvent_t events[8];
static cublasHandle_t cublas;
static char *buffer;
static FILE *log_file;

static void host(const char *what)
{
    fprintf(log_file, "%s host %llu\n", what, (unsigned long long)emuHostClockNs());
}

static void elapsed(const char *what, int from, int to)
{
    float ms;
    OK(cudaEventElapsedTime(&ms, events[from], events[to]));
    fprintf(log_file, "%s %.6f ms\n", what, (double)ms);
}

static void product(int m, int n, int k)
{
    const float one = 1, zero = 0;
    OK(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, buffer, CUDA_R_16BF, m, buffer,
                    CUDA_R_16BF, k, &zero, buffer, CUDA_R_16BF, m, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
}

/* Polls as a framework's watchdog does, until ready; every poll moves the clock. */
static void poll_event(cudaEvent_t event)
{
    int polls = 0;
    cudaError_t error;
    while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
        polls++;
    OK(error);
    (void)cudaGetLastError();
    fprintf(log_file, "polls %d\n", polls);
}

static void round_of(int round)
{
    size_t count = (size_t)1 << (8 + round % 14);
    char *wide = buffer + (32 << 20);
    emu_work((uint64_t)(check_rank() * 7 % 5) * 3000);
    OK(cudaEventRecord(events[0], compute));
    product(256 + 64 * (round % 5), 512, 256);
    OK(cudaEventRecord(events[1], compute));
    OK(cudaStreamWaitEvent(side, events[1], 0));
    OK(ncclAllReduce(wide, wide, count, ncclFloat16, ncclSum, comm, side));
    OK(cudaEventRecord(events[2], side));
    product(1024, 1024, 512);
    OK(ncclAllReduce(buffer, buffer, 4096, ncclFloat32, ncclSum, half, compute));
    OK(cudaStreamWaitEvent(compute, events[2], 0));
    OK(cudaEventRecord(events[3], compute));
    host("issued");
    if (round % 3 == 0)
        poll_event(events[2]);
    OK(cudaStreamSynchronize(compute));
    host("synchronised");
    elapsed("product", 0, 1);
    elapsed("collective", 1, 2);
    elapsed("all", 0, 3);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20;
    char path[512];
    CHECK(argc > 1, 1);
    snprintf(path, sizeof path, "%s.%d", argv[1], check_rank());
    log_file = fopen(path, "w");
    CHECK(log_file != NULL, 1);
    comm = check_comm("times");
    host("communicator");
    OK(ncclCommSplit(comm, check_rank() / 2, 0, &half, NULL));
    OK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cublasCreate(&cublas));
    OK(cublasSetStream(cublas, compute));
    OK(cudaMalloc((void **)&buffer, (size_t)64 << 20));
    for (int i = 0; i < 8; i++)
        OK(cudaEventCreate(&events[i]));
    for (int i = 0; i < rounds; i++)
        round_of(i);
    host("end");
    OK(ncclCommDestroy(half));
    OK(ncclCommDestroy(comm));
    return fclose(log_file);
}

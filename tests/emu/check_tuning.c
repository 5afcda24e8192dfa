/* SPDX-License-Identifier: MIT
 *
 * Choices that a program forces on NCCL: algorithm, protocol, channels. Times on an idle machine
 * without jitter, of the last rank to end; the environment is read as each communicator is made.
 *
 *     check_tuning       one line a fact on rank 0
 */
#include <cublas_v2.h>
#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "emu.h"

#define MIB ((size_t)1 << 20)
#define CHANNEL_GBPS 25

static cudaStream_t stream, side;
static cudaEvent_t begin, end;
static char *buffer;

/* A communicator under these settings; NULL: not set. ctas: 0, or so many channels. */
static ncclResult_t make(const char *algorithm, const char *protocol, int ctas, ncclComm_t *comm)
{
    static int made;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    char name[32];
    snprintf(name, sizeof name, "tuning%d", made++);
    if (ctas)
        config.minCTAs = config.maxCTAs = ctas;
    unsetenv("NCCL_ALGO");
    unsetenv("NCCL_PROTO");
    if (algorithm != NULL)
        setenv("NCCL_ALGO", algorithm, 1);
    if (protocol != NULL)
        setenv("NCCL_PROTO", protocol, 1);
    return ncclCommInitRankConfig(comm, check_world(), check_id(name), check_rank(), &config);
}

/* All begin at once: after a first operation, at a time that is the same on all. */
static double us(ncclComm_t comm, bool gather, size_t bytes)
{
    size_t part = gather ? bytes / (size_t)check_world() : bytes;
    float ms;
    OK(cudaStreamSynchronize(stream));
    emu_join((emu_time() / 1000000000 + 1) * 1000000000);
    OK(cudaEventRecord(begin, stream));
    if (gather)
        OK(ncclAllGather(buffer, buffer, part, ncclInt8, comm, stream));
    else
        OK(ncclAllReduce(buffer, buffer, part / 2, ncclFloat16, ncclSum, comm, stream));
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, begin, end));
    return (double)ms * 1e3;
}

static double forced(const char *algorithm, const char *protocol, int ctas, bool gather,
                     size_t bytes)
{
    ncclComm_t comm;
    double took;
    OK(make(algorithm, protocol, ctas, &comm));
    took = us(comm, gather, bytes);
    OK(ncclCommDestroy(comm));
    return took;
}

static void fact(const char *what, bool holds)
{
    if (check_rank() == 0)
        printf("%s: %s\n", what, holds ? "yes" : "no");
}

static bool near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

static void protocols(void)
{
    double own = forced(NULL, NULL, 0, false, 8), ll = forced(NULL, "LL", 0, false, 8);
    double ll128 = forced(NULL, "LL128", 0, false, 8), simple = forced(NULL, "simple", 0, false, 8);
    double much = forced("Ring", "Simple", 0, false, 512 * MIB);
    fact("small: LL is the stand-in's own, then LL128, then Simple",
         near(own, ll, 0.01) && ll < ll128 && ll128 < simple);
    fact("large: LL takes twice as long as Simple",
         near(forced("Ring", "LL", 0, false, 512 * MIB), 2 * much, 0.1));
    fact("large: LL128 takes 128/120 of it",
         near(forced("Ring", "LL128", 0, false, 512 * MIB), much * 128 / 120, 0.01));
    fact("large: Simple is the stand-in's own",
         near(forced(NULL, NULL, 0, false, 512 * MIB), much, 0.03));
    fact("of two the quicker one: LL for 8 bytes",
         near(forced(NULL, "LL,Simple", 0, false, 8), ll, 1e-9));
    fact("of two the quicker one: Simple for 512 MiB",
         near(forced("Ring", "^ll128", 0, false, 512 * MIB), much, 1e-9));
}

static void algorithms(void)
{
    double tree = forced("Tree", NULL, 0, false, 8), ring = forced("ring", NULL, 0, false, 8);
    double trees = forced("Tree", NULL, 0, false, 512 * MIB);
    double rings = forced("^Tree", NULL, 0, false, 512 * MIB);
    fact("small: a tree is quicker than a ring", tree < ring);
    fact("large: a tree is about as quick as a ring", near(trees, rings, 0.35));
    fact("a list for one function leaves the others",
         near(forced("allreduce:tree", NULL, 0, true, 8), forced(NULL, NULL, 0, true, 8), 1e-9) &&
             near(forced("ring;ALLREDUCE:tree", NULL, 0, false, 8), tree, 1e-9));
}

static void channels(void)
{
    double n = check_world(), own = forced(NULL, NULL, 0, true, 512 * MIB);
    char text[64];
    for (int ctas = 1; ctas <= 16; ctas *= 2) {
        double took = forced(NULL, NULL, ctas, true, 512 * MIB);
        double rate = (double)(512 * MIB) * (n - 1) / n / took / 1e3;
        double most = (double)(512 * MIB) * (n - 1) / n / own / 1e3;
        snprintf(text, sizeof text, "%d channels move what they can", ctas);
        fact(text, near(rate, fmin(ctas * CHANNEL_GBPS, most), 0.06));
    }
}

/* Measures the time of a GEMM beside a communication kernel that begins with it. */
static double product_beside(int ctas)
{
    const float one = 1, zero = 0;
    cublasHandle_t cublas;
    ncclComm_t comm;
    float ms;
    OK(make(NULL, NULL, ctas, &comm));
    OK(cublasCreate(&cublas));
    OK(cublasSetStream(cublas, stream));
    OK(cudaStreamSynchronize(stream));
    emu_join((emu_time() / 1000000000 + 1) * 1000000000);
    OK(cudaEventRecord(begin, stream));
    OK(cudaStreamWaitEvent(side, begin, 0));
    OK(ncclAllReduce(buffer, buffer, 512 * MIB, ncclFloat16, ncclSum, comm, side));
    OK(cudaEventRecord(begin, stream));
    OK(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8192, 8192, 1024, &one, buffer, CUDA_R_16BF,
                    8192, buffer, CUDA_R_16BF, 1024, &zero, buffer, CUDA_R_16BF, 8192,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    OK(cudaEventRecord(end, stream));
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, begin, end));
    OK(cublasDestroy(cublas));
    OK(ncclCommDestroy(comm));
    return (double)ms * 1e3;
}

/* The call of which the program hears that nothing is left, or -1. */
static int refused(const char *algorithm, const char *protocol, bool gather)
{
    ncclComm_t comm;
    ncclResult_t result = make(algorithm, protocol, 0, &comm);
    if (result)
        return 0;
    if (gather)
        result = ncclAllGather(buffer, buffer, 8, ncclInt8, comm, stream);
    else
        result = ncclAllReduce(buffer, buffer, 8, ncclInt8, ncclSum, comm, stream);
    OK(cudaStreamSynchronize(stream));
    OK(ncclCommDestroy(comm));
    return result == ncclInvalidUsage ? 1 : -1;
}

int main(void)
{
    ncclComm_t comm = check_comm("tuning");
    bool alone = check_world() == 1;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc((void **)&buffer, 2048 * MIB));
    fact("unknown words are refused as the communicator is made",
         refused("Ring,Square", NULL, false) == 0 && refused(NULL, "LL256", false) == 0 &&
             refused("allreduced:ring", NULL, false) == 0 &&
             refused("ring;tree", NULL, false) == 0);
    fact("a tree for AllGather is refused when it is called for, but for one rank",
         refused("Tree", NULL, true) == (alone ? -1 : 1) && refused("Tree", NULL, false) == -1);
    fact("what is not imitated is refused", refused("NVLS", NULL, false) == (alone ? -1 : 1));
    if (!alone) {
        protocols();
        algorithms();
        channels();
        fact("more channels take more SMs from a product",
             product_beside(32) > product_beside(8) && product_beside(8) > product_beside(1));
    }
    OK(ncclCommDestroy(comm));
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Operations beside each other, four ranks of two to a node: what each takes alone, and together
 * with another that begins at the same time. Without jitter, so that equal means equal.
 *
 *     check_beside [gemms]       one line a fact on rank 0; the machine is the fabric's
 */
#include <cublas_v2.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "emu.h"

#define MIB ((size_t)1 << 20)

/* twin: of all; node: two to a node; across: one of each node, and mail, too */
static ncclComm_t all, twin, node, across, mail;
static cudaStream_t first, second;
static cudaEvent_t go, begin[2], end[2];
static cublasHandle_t cublas;
static char *buffer;

/* A function that puts some work on a stream. */
typedef void work(cudaStream_t stream);

static void reduce(ncclComm_t comm, size_t bytes, cudaStream_t stream)
{
    OK(ncclAllReduce(buffer, buffer, bytes / 2, ncclFloat16, ncclSum, comm, stream));
}

static void reduce_all(cudaStream_t stream)
{
    reduce(all, 64 * MIB, stream);
}

static void reduce_twin(cudaStream_t stream)
{
    reduce(twin, 32 * MIB, stream);
}

static void reduce_node(cudaStream_t stream)
{
    reduce(node, 256 * MIB, stream);
}

static void reduce_across(cudaStream_t stream)
{
    reduce(across, 32 * MIB, stream);
}

static void send_across(cudaStream_t stream)
{
    int peer = 1 - check_rank() / 2;
    OK(ncclGroupStart());
    OK(ncclSend(buffer, 32 * MIB, ncclInt8, peer, mail, stream));
    OK(ncclRecv(buffer + 64 * MIB, 32 * MIB, ncclInt8, peer, mail, stream));
    OK(ncclGroupEnd());
}

/* One way, from the first node to the second. */
static void send_on(cudaStream_t stream)
{
    if (check_rank() < 2)
        OK(ncclSend(buffer, 32 * MIB, ncclInt8, 1, mail, stream));
    else
        OK(ncclRecv(buffer, 32 * MIB, ncclInt8, 0, mail, stream));
}

static void product(cudaStream_t stream)
{
    const float one = 1, zero = 0;
    OK(cublasSetStream(cublas, stream));
    OK(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8192, 8192, 4096, &one, buffer, CUDA_R_16BF,
                    8192, buffer, CUDA_R_16BF, 4096, &zero, buffer, CUDA_R_16BF, 8192,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void kernel(cudaStream_t stream)
{
    OK(cudaLaunchKernel(emuKernel("norm", 500000), (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
                        stream));
}

static double us(cudaEvent_t from, cudaEvent_t to)
{
    float ms;
    OK(cudaEventElapsedTime(&ms, from, to));
    return (double)ms * 1e3;
}

/* Both begin when a kernel ends that is long enough for all calls, at one time on all ranks. */
static void together(work *a, work *b, double *time_a, double *time_b)
{
    cudaStream_t streams[2] = {first, second};
    work *works[2] = {a, b};
    OK(cudaDeviceSynchronize());
    reduce(all, 2, first);
    OK(cudaStreamSynchronize(first));
    emu_join((emu_time() / 100000000 + 1) * 100000000);
    OK(cudaLaunchKernel(emuKernel("long", 1000000), (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
                        first));
    OK(cudaEventRecord(go, first));
    OK(cudaStreamWaitEvent(second, go, 0));
    for (int i = 0; i < 2; i++)
        if (works[i] != NULL) {
            OK(cudaEventRecord(begin[i], streams[i]));
            works[i](streams[i]);
            OK(cudaEventRecord(end[i], streams[i]));
        }
    OK(cudaDeviceSynchronize());
    if (a != NULL)
        *time_a = us(go, end[0]);
    if (b != NULL)
        *time_b = us(go, end[1]);
}

static double alone(work *a)
{
    double time, none;
    together(a, NULL, &time, &none);
    return time;
}

static void say(const char *what, bool holds, double value)
{
    if (check_rank() == 0 && holds)
        printf("%s\n", what);
    else if (check_rank() == 0)
        printf("NOT %s: %.4f\n", what, value);
}

static bool equal(double a, double b)
{
    return a - b < 0.004 && b - a < 0.004;
}

/* Of `us` alone, at this many GB/s at most. */
static double at_rate(double bytes, double GBps)
{
    return bytes / GBps / 1e3;
}

static void same_ports(void)
{
    double a = alone(reduce_all), b = alone(reduce_twin), with_a, with_b;
    /* an AllReduce sends 2 (n - 1) / n of its bytes, two cards from node to node */
    double least = at_rate(96 * (double)MIB * 2 * 3 / 4, 2 * 46);
    together(reduce_all, reduce_twin, &with_a, &with_b);
    say("the one launched first takes what it takes alone", equal(with_a, a), with_a / a);
    say("the other takes longer", with_b > 1.5 * b, with_b / b);
    say("both take no less than their bytes take on the link", with_b >= least, with_b / least);
    say("and no longer than one after the other", with_b <= a + b, with_b / (a + b));
}

static void other_ports(void)
{
    double a = alone(reduce_node), b = alone(reduce_across), with_a, with_b;
    together(reduce_node, reduce_across, &with_a, &with_b);
    say("links within a node and beyond it do not disturb each other",
        equal(with_a, a) && equal(with_b, b), with_b / b);
}

static void messages(void)
{
    double a = alone(reduce_across), b = alone(send_across), on = alone(send_on), with_a, with_b;
    double least = at_rate(64 * (double)MIB, 46);
    together(reduce_across, send_across, &with_a, &with_b);
    say("messages get what a collective leaves", equal(with_a, a) && with_b >= least,
        with_b / least);
    together(reduce_across, send_on, &with_a, &with_b);
    say("so does a message one way", with_b > 1.5 * on, with_b / on);
    together(send_across, reduce_across, &with_b, &with_a);
    say("a collective gets what messages both ways leave", equal(with_b, b) && with_a > 1.5 * a,
        with_a / a);
}

static void computation(void)
{
    double gemm = alone(product), norm = alone(kernel), with_a, with_b, a = alone(reduce_all);
    together(reduce_all, product, &with_a, &with_b);
    say("a product loses the SMs that the communication holds",
        with_b > 1.1 * gemm && with_b < 1.2 * gemm, with_b / gemm);
    say("which it does not slow", equal(with_a, a), with_a / a);
    together(reduce_node, kernel, &with_a, &with_b);
    say("a kernel shares the memory", with_b > 1.2 * norm && with_b < 1.6 * norm, with_b / norm);
    say("afterwards they take what they took alone",
        equal(alone(product), gemm) && equal(alone(kernel), norm), gemm);
    together(product, reduce_all, &with_a, &with_b);
    say("what is launched later is not seen", equal(with_a, gemm), with_a / gemm);
}

/* Of a fabric where GEMMs take half of the links. */
static void links_of_gemms(void)
{
    double gemm = alone(product), norm = alone(kernel), a = alone(reduce_all), with_a, with_b;
    together(product, reduce_all, &with_a, &with_b);
    say("beside a product a collective moves half of its bytes",
        with_b - a > 0.48 * gemm && with_b - a < 0.52 * gemm, (with_b - a) / gemm);
    say("which it does not slow", equal(with_a, gemm), with_a / gemm);
    together(kernel, reduce_all, &with_a, &with_b);
    say("other kernels take nothing", equal(with_b, a) && equal(with_a, norm), with_b / a);
    together(reduce_all, product, &with_a, &with_b);
    say("what is launched later is not seen", equal(with_a, a), with_a / a);
}

int main(int argc, char **argv)
{
    all = check_comm("beside");
    OK(ncclCommSplit(all, 0, 0, &twin, NULL));
    OK(ncclCommSplit(all, check_rank() / 2, 0, &node, NULL));
    OK(ncclCommSplit(all, check_rank() % 2, 0, &across, NULL));
    OK(ncclCommSplit(all, check_rank() % 2, 0, &mail, NULL));
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&go));
    for (int i = 0; i < 2; i++) {
        OK(cudaEventCreate(&begin[i]));
        OK(cudaEventCreate(&end[i]));
    }
    OK(cublasCreate(&cublas));
    OK(cudaMalloc((void **)&buffer, 256 * MIB));
    if (argc > 1 && strcmp(argv[1], "gemms") == 0) {
        links_of_gemms();
        return 0;
    }
    same_ports();
    other_ports();
    messages();
    computation();
    return 0;
}

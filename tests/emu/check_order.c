/* SPDX-License-Identifier: MIT
 *
 * Two ranks that launch communication in orders of their own, as programs do that the real library
 * does not let hang: neither do the stand-ins, and two runs take the same virtual times. Prints
 * those of the rank to PREFIX.<rank>.
 *
 *     check_order PREFIX
 */
#include <pthread.h>

#include "check.h"
#include "emu.h"

#define COUNT ((size_t)1 << 22)

static ncclComm_t one, other, mail, back;
static cudaStream_t compute, side;
static cudaEvent_t event;
static char *buffer;
static FILE *log_file;

static void done(const char *what)
{
    float ms;
    cudaEvent_t end;
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(end, compute));
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, event, end));
    fprintf(log_file, "%s %.6f ms, host %llu\n", what, (double)ms,
            (unsigned long long)emuHostClockNs());
    OK(cudaEventRecord(event, compute));
}

static void reduce(ncclComm_t comm, cudaStream_t stream)
{
    OK(ncclAllReduce(buffer, buffer, COUNT, ncclFloat16, ncclSum, comm, stream));
}

static void kernel(cudaStream_t stream)
{
    OK(cudaLaunchKernel(emuKernel("norm", 100000), (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
                        stream));
}

static void send(ncclComm_t comm, cudaStream_t stream)
{
    OK(ncclSend(buffer, COUNT, ncclInt8, 1 - check_rank(), comm, stream));
}

static void receive(ncclComm_t comm, cudaStream_t stream)
{
    OK(ncclRecv(buffer, COUNT, ncclInt8, 1 - check_rank(), comm, stream));
}

/* Rank 0 launches the receive of an answer before the message that it answers, which it sends after
 * a kernel. */
static void early_receive(void)
{
    if (check_rank() == 0) {
        receive(mail, side);
        kernel(compute);
        send(back, compute);
    } else {
        receive(back, compute);
        send(mail, compute);
    }
    done("early");
}

/* A collective that a peer comes to only after what is launched after it. */
static void crossed(void)
{
    if (check_rank() == 0) {
        reduce(one, side);
        kernel(compute);
        OK(cudaStreamSynchronize(compute));
        send(mail, compute);
    } else {
        receive(mail, compute);
        OK(cudaStreamSynchronize(compute));
        reduce(one, side);
    }
    done("crossed");
}

/* A kernel that is asked for, beside a collective that the peer begins only after the answer. */
static void polled(void)
{
    cudaError_t error = cudaErrorNotReady;
    char path[512];
    snprintf(path, sizeof path, "%s.word", getenv("SPECTER_EXAMPLE_ID"));
    if (check_rank() == 0) {
        reduce(one, side);
        kernel(compute);
        while (error == cudaErrorNotReady)
            error = cudaStreamQuery(compute);
        OK(error);
        (void)cudaGetLastError();
        fclose(fopen(path, "w"));
    } else {
        while (access(path, F_OK) != 0)
            usleep(100000);
        reduce(one, side);
    }
    done("polled");
}

static void crossed_collectives(void)
{
    reduce(check_rank() ? one : other, compute);
    OK(cudaEventRecord(event, compute));
    if (check_rank())
        OK(cudaStreamSynchronize(compute));
    reduce(check_rank() ? other : one, side);
    done("collectives");
}

/* In a group there is no order. */
static void crossed_groups(void)
{
    OK(ncclGroupStart());
    reduce(check_rank() ? one : other, check_rank() ? compute : side);
    reduce(check_rank() ? other : one, check_rank() ? side : compute);
    OK(ncclGroupEnd());
    done("groups");
}

static void *from_thread(void *clock)
{
    OK(cudaSetDevice(check_env("LOCAL_RANK", 0)));
    emu_join(*(uint64_t *)clock);
    reduce(other, side);
    kernel(side);
    return NULL;
}

/* Each thread has an order of its own, none with the other. */
static void threads(void)
{
    uint64_t clock = emu_time();
    pthread_t thread;
    if (check_rank() == 0)
        reduce(one, compute);
    OK(pthread_create(&thread, NULL, from_thread, &clock));
    OK(pthread_join(thread, NULL));
    if (check_rank() == 1)
        reduce(one, compute);
    kernel(compute);
    done("threads");
}

int main(int argc, char **argv)
{
    char path[512];
    CHECK(argc, 2);
    snprintf(path, sizeof path, "%s.%d", argv[1], check_rank());
    log_file = fopen(path, "w");
    CHECK(log_file != NULL, 1);
    one = check_comm("order");
    OK(ncclCommSplit(one, 0, 0, &other, NULL));
    OK(ncclCommSplit(one, 0, 0, &mail, NULL));
    OK(ncclCommSplit(one, 0, 0, &back, NULL));
    OK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc((void **)&buffer, 2 * COUNT));
    OK(cudaEventRecord(event, compute));
    early_receive();
    crossed_groups();
    threads();
    crossed();
    crossed_collectives();
    polled();
    return fclose(log_file);
}

/* SPDX-License-Identifier: MIT
 *
 * GPUs that become warm, and what NVML says of them. NVML is found as a profiler finds it, by
 * dlopen.
 *
 *     check_heat work            each rank works, cools, works on a locked clock; rank 0 prints
 *     check_heat look            what another process sees: one line a GPU of the node
 *     check_heat lock GPU MHZ    and reset GPU
 *     check_heat topology        what connects the GPUs of the node
 */
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdbool.h>

#include "check.h"
#include "emu.h"

struct pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instances[2];
};

struct utilization {
    unsigned gpu, memory;
};

/* X(name, parameters) */
#define FUNCTIONS(X)                                                                        \
    X(nvmlInit_v2, (void))                                                                  \
    X(nvmlShutdown, (void))                                                                 \
    X(nvmlDeviceGetCount_v2, (unsigned *))                                                  \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **))                                   \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))                            \
    X(nvmlDeviceGetHandleByUUID, (const char *, void **))                                   \
    X(nvmlDeviceGetUUID, (void *, char *, unsigned))                                        \
    X(nvmlDeviceGetPciInfo_v3, (void *, struct pci *))                                      \
    X(nvmlDeviceGetTemperature, (void *, int, unsigned *))                                  \
    X(nvmlDeviceGetTemperatureThreshold, (void *, int, unsigned *))                         \
    X(nvmlDeviceGetPowerUsage, (void *, unsigned *))                                        \
    X(nvmlDeviceGetEnforcedPowerLimit, (void *, unsigned *))                                \
    X(nvmlDeviceGetClockInfo, (void *, int, unsigned *))                                    \
    X(nvmlDeviceGetMaxClockInfo, (void *, int, unsigned *))                                 \
    X(nvmlDeviceGetCurrentClocksEventReasons, (void *, unsigned long long *))               \
    X(nvmlDeviceGetUtilizationRates, (void *, struct utilization *))                        \
    X(nvmlDeviceGetComputeRunningProcesses_v3, (void *, unsigned *, struct nvml_process *)) \
    X(nvmlDeviceSetGpuLockedClocks, (void *, unsigned, unsigned))                           \
    X(nvmlDeviceResetGpuLockedClocks, (void *))                                             \
    X(nvmlDeviceGetNvLinkState, (void *, unsigned, int *))                                  \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (void *, unsigned, struct pci *))                \
    X(nvmlDeviceGetNvLinkRemoteDeviceType, (void *, unsigned, int *))                       \
    X(nvmlDeviceGetTopologyCommonAncestor, (void *, void *, int *))                         \
    X(nvmlDeviceGetTopologyNearestGpus, (void *, int, unsigned *, void **))                 \
    X(nvmlDeviceGetNumaNodeId, (void *, unsigned *))                                        \
    X(nvmlDeviceGetCpuAffinity, (void *, unsigned, unsigned long *))

#define X(_name, _params) static int(*_name) _params;
FUNCTIONS(X)
#undef X

#define WORK_NS 15000000000u /* as long as the time constant */

static cudaStream_t stream;
static cudaEvent_t begin, end;
static cublasHandle_t cublas;
static char *buffer;

static void open_nvml(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *found;
    CHECK(library != NULL, 1);
#define X(_name, _params)                 \
    found = dlsym(library, #_name);       \
    memcpy(&_name, &found, sizeof found); \
    CHECK(found != NULL, 1);
    FUNCTIONS(X)
#undef X
    OK(nvmlInit_v2());
}

static void *handle_of(unsigned gpu)
{
    void *device;
    OK(nvmlDeviceGetHandleByIndex_v2(gpu, &device));
    return device;
}

/* ---- what NVML says ---- */

struct state {
    unsigned celsius, milliwatts, MHz, processes, mine;
    unsigned long long reasons;
    struct utilization use;
};

static struct state look(unsigned gpu)
{
    struct nvml_process processes[32];
    void *device = handle_of(gpu);
    struct state s = {.processes = 32};
    OK(nvmlDeviceGetTemperature(device, 0, &s.celsius));
    OK(nvmlDeviceGetPowerUsage(device, &s.milliwatts));
    OK(nvmlDeviceGetClockInfo(device, 1, &s.MHz));
    OK(nvmlDeviceGetCurrentClocksEventReasons(device, &s.reasons));
    OK(nvmlDeviceGetUtilizationRates(device, &s.use));
    OK(nvmlDeviceGetComputeRunningProcesses_v3(device, &s.processes, processes));
    for (unsigned i = 0; i < s.processes; i++)
        s.mine += processes[i].pid == (unsigned)getpid();
    return s;
}

static void print_state(const char *what, const struct state *s)
{
    printf("%s: %u C, %.0f W, %u MHz, reasons 0x%llx, %u %% busy, %u processes\n", what, s->celsius,
           s->milliwatts / 1e3, s->MHz, s->reasons, s->use.gpu, s->processes);
}

static void check_all(void)
{
    unsigned count;
    char name[32];
    OK(nvmlDeviceGetCount_v2(&count));
    for (unsigned i = 0; i < count; i++) {
        struct state s = look(i);
        snprintf(name, sizeof name, "GPU %u", i);
        print_state(name, &s);
    }
}

/* ---- work ---- */

static double product_us(void)
{
    const float one = 1, zero = 0;
    float ms;
    OK(cudaEventRecord(begin, stream));
    OK(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8192, 8192, 8192, &one, buffer, CUDA_R_16BF,
                    8192, buffer, CUDA_R_16BF, 8192, &zero, buffer, CUDA_R_16BF, 8192,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, begin, end));
    return (double)ms * 1e3;
}

static void work_for(uint64_t ns)
{
    uint64_t until = emu_time() + ns;
    while (emu_time() < until)
        product_us();
}

/* One line a rank, in order. */
static void print_ranks(ncclComm_t comm, const char *what)
{
    struct state s = look((unsigned)check_env("LOCAL_RANK", 0)), all[64];
    double us = product_us(), times[64];
    char name[64];
    CHECK(s.mine, 1);
    OK(cudaMemcpy(buffer, &s, sizeof s, cudaMemcpyHostToDevice));
    OK(ncclAllGather(buffer, buffer + 4096, sizeof s, ncclInt8, comm, stream));
    OK(cudaMemcpyAsync(all, buffer + 4096, (size_t)check_world() * sizeof s, cudaMemcpyDeviceToHost,
                       stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(buffer, &us, sizeof us, cudaMemcpyHostToDevice));
    OK(ncclAllGather(buffer, buffer + 4096, 1, ncclFloat64, comm, stream));
    OK(cudaMemcpyAsync(times, buffer + 4096, (size_t)check_world() * sizeof us,
                       cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < check_world() && check_rank() == 0; i++) {
        snprintf(name, sizeof name, "%s: rank %d: GEMM %.0f us", what, i, times[i]);
        print_state(name, &all[i]);
    }
}

/* All stand still meanwhile. */
static void run_other(ncclComm_t comm, const char *program)
{
    char command[4200];
    OK(cudaStreamSynchronize(stream));
    if (check_rank() == 0) {
        puts("another process:");
        fflush(stdout);
        snprintf(command, sizeof command, "'%s' look", program);
        OK(system(command));
    }
    OK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
}

static void work(const char *program)
{
    ncclComm_t comm = check_comm("heat");
    void *device = handle_of((unsigned)check_env("LOCAL_RANK", 0));
    int refused;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cublasCreate(&cublas));
    OK(cublasSetStream(cublas, stream));
    OK(cudaMalloc((void **)&buffer, (size_t)256 << 20));
    print_ranks(comm, "at rest");
    work_for(WORK_NS);
    print_ranks(comm, "warm");
    run_other(comm, program);
    emu_work(WORK_NS);
    print_ranks(comm, "cooler");
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cublasSetStream(cublas, stream));
    refused = nvmlDeviceSetGpuLockedClocks(device, 990, 990);
    if (check_rank() == 0)
        printf("lock: %d\n", refused);
    work_for(WORK_NS / 5);
    print_ranks(comm, "locked");
    CHECK(nvmlDeviceResetGpuLockedClocks(device), refused);
    print_ranks(comm, "unlocked");
    OK(ncclCommDestroy(comm));
}

/* ---- places ---- */

static void topology(void)
{
    unsigned count, numa, near, largest = 18;
    int level, type = -1, active, links;
    struct pci pci, remote = {.id = ""};
    unsigned long processors[16];
    char uuid[96];
    void *found;
    OK(nvmlDeviceGetCount_v2(&count));
    for (unsigned i = 0; i < count; i++) {
        void *device = handle_of(i);
        OK(nvmlDeviceGetUUID(device, uuid, sizeof uuid));
        OK(nvmlDeviceGetHandleByUUID(uuid, &found));
        CHECK(found == device, 1);
        OK(nvmlDeviceGetPciInfo_v3(device, &pci));
        OK(nvmlDeviceGetHandleByPciBusId_v2(pci.id, &found));
        CHECK(found == device, 1);
        for (links = 0; links < (int)largest; links++)
            if (nvmlDeviceGetNvLinkState(device, (unsigned)links, &active) || !active)
                break;
        if (links) {
            OK(nvmlDeviceGetNvLinkRemoteDeviceType(device, 0, &type));
            OK(nvmlDeviceGetNvLinkRemotePciInfo_v2(device, (unsigned)links - 1, &remote));
        }
        OK(nvmlDeviceGetNumaNodeId(device, &numa));
        OK(nvmlDeviceGetCpuAffinity(device, 16, processors));
        near = 0;
        OK(nvmlDeviceGetTopologyNearestGpus(device, 40, &near, NULL));
        printf("%s %s: %d links to %s, the last to %s; NUMA node %u, %u GPUs near, levels", uuid,
               pci.id, links,
               type == 2   ? "switches"
               : type == 0 ? "GPUs"
                           : "nothing",
               remote.id, numa, near);
        for (unsigned j = 0; j < count; j++) {
            OK(nvmlDeviceGetTopologyCommonAncestor(device, handle_of(j), &level));
            printf(" %d", level);
        }
        puts(processors[0] ? "" : ", no processor");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned gpu = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned MHz = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    open_nvml();
    if (strcmp(what, "look") == 0)
        check_all();
    else if (strcmp(what, "topology") == 0)
        topology();
    else if (strcmp(what, "lock") == 0)
        printf("lock: %d\n", nvmlDeviceSetGpuLockedClocks(handle_of(gpu), MHz, MHz));
    else if (strcmp(what, "reset") == 0)
        printf("reset: %d\n", nvmlDeviceResetGpuLockedClocks(handle_of(gpu)));
    else
        work(argv[0]);
    OK(nvmlShutdown());
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Calls that a tracer records, in bursts and at a steady rate; hook_cost.py runs it untraced and
 * traced. Opens the GPU's libraries itself, as Python does, so that it runs on every version of
 * them: needs only LD_LIBRARY_PATH where they are not the loader's.
 *
 *     hook_cost calls BURSTS         a line a call: name, nanoseconds of one (median of bursts),
 * calls hook_cost load RATE SECONDS    so many products a second; a line of numbers, see
 * tell_load()
 *
 * A burst is short enough that the device's queue and the tracer's ring hold it, and the tracer
 * has time to empty the ring before the next. Status 77 where a library or a device is not there.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURST 200        /* with two events each well below the 1024 that a queue holds */
#define HARVEST_US 25000 /* the tracer looks at its rings every 10 ms */
#define IDLE_US 1300000  /* and less often when nothing has come for a second */
#define SETTLE_US 100000 /* what the first operation has it prepare is done */
#define BURSTS_MAX 1000
#define N 16 /* rows and columns of a product */
#define SHORT_BYTES 4096
#define TIMED_BYTES 65536 /* from here on a copy is worth a pair of events */

#define EVENT_DISABLE_TIMING 2
#define REAL_16F 2
#define COMPUTE_32F 68
#define DEVICE_TO_DEVICE 3
#define NCCL_FLOAT32 7

struct unique_id {
    char internal[128];
};

typedef struct opaque *handle; /* a stream, event, module, communicator: any of them */

/* X(library, function, parameters) */
#define FUNCTIONS(X)                                                                             \
    X(cudart, cudaSetDevice, (int))                                                              \
    X(cudart, cudaMalloc, (void **, size_t))                                                     \
    X(cudart, cudaMemGetInfo, (size_t *, size_t *))                                              \
    X(cudart, cudaStreamCreateWithFlags, (handle *, unsigned))                                   \
    X(cudart, cudaStreamSynchronize, (handle))                                                   \
    X(cudart, cudaEventCreateWithFlags, (handle *, unsigned))                                    \
    X(cudart, cudaEventRecord, (handle, handle))                                                 \
    X(cudart, cudaStreamWaitEvent, (handle, handle, unsigned))                                   \
    X(cudart, cudaMemsetAsync, (void *, int, size_t, handle))                                    \
    X(cudart, cudaMemcpyAsync, (void *, const void *, size_t, int, handle))                      \
    X(cublas, cublasCreate_v2, (handle *))                                                       \
    X(cublas, cublasSetStream_v2, (handle, handle))                                              \
    X(cublas, cublasGemmEx,                                                                      \
      (handle, int, int, int, int, int, const void *, const void *, int, int, const void *, int, \
       int, const void *, void *, int, int, int, int))                                           \
    X(nccl, ncclGetUniqueId, (struct unique_id *))                                               \
    X(nccl, ncclCommInitRank, (handle *, int, struct unique_id, int))                            \
    X(nccl, ncclAllReduce, (const void *, void *, size_t, int, int, handle, handle))             \
    X(cuda, cuLaunchKernel,                                                                      \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,     \
       void **, void **))

static struct {
#define X(_library, _name, _params) int(*_name) _params;
    FUNCTIONS(X)
#undef X
} gpu;

static const struct library {
    const char *name, *sonames[3];
} libraries[] = {
    {"cuda", {"libcuda.so.1"}},
    {"cudart", {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}},
    {"cublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}},
    {"nccl", {"libnccl.so.2"}},
};

static handle stream, blas, comm, event, kernel;
static void *from, *to;

/* ---- opening ---- */

static void die(const char *what)
{
    fprintf(stderr, "hook_cost: %s\n", what);
    exit(77);
}

static void *open_library(const char *name)
{
    void *found = NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (strcmp(libraries[i].name, name) != 0)
            continue;
        for (int n = 0; n < 3 && found == NULL && libraries[i].sonames[n] != NULL; n++)
            found = dlopen(libraries[i].sonames[n], RTLD_NOW);
    }
    if (found == NULL)
        die(name);
    return found;
}

static void bind(const char *library, const char *symbol, void *slot)
{
    void *found = dlsym(open_library(library), symbol);
    if (found == NULL)
        die(symbol);
    memcpy(slot, &found, sizeof found);
}

static void ok(const char *what, int status)
{
    if (status == 0)
        return;
    fprintf(stderr, "hook_cost: %s: status %d\n", what, status);
    exit(1);
}

/* A kernel that does nothing, of which a driver knows the code; the stand-ins make one by name. */
static void make_kernel(void)
{
    static const char code[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                               ".visible .entry empty()\n{\n    ret;\n}\n";
    const void *(*by_name)(const char *, uint64_t);
    int (*load)(handle *, const void *), (*get)(handle *, handle, const char *);
    void *found = dlsym(open_library("cuda"), "emuKernel");
    handle module;
    if (found != NULL) {
        memcpy(&by_name, &found, sizeof found);
        kernel = (handle)(uintptr_t)by_name("empty", 1000);
        return;
    }
    bind("cuda", "cuModuleLoadData", &load);
    bind("cuda", "cuModuleGetFunction", &get);
    ok("cuModuleLoadData", load(&module, code));
    ok("cuModuleGetFunction", get(&kernel, module, "empty"));
}

static void open_device(void)
{
#define X(_library, _name, _params) bind(#_library, #_name, &gpu._name);
    FUNCTIONS(X)
#undef X
    if (gpu.cudaSetDevice(0) != 0)
        die("no device");
    ok("cudaMalloc", gpu.cudaMalloc(&from, TIMED_BYTES));
    ok("cudaMalloc", gpu.cudaMalloc(&to, TIMED_BYTES));
    ok("cudaStreamCreate", gpu.cudaStreamCreateWithFlags(&stream, 1));
    ok("cudaEventCreate", gpu.cudaEventCreateWithFlags(&event, EVENT_DISABLE_TIMING));
    ok("cublasCreate", gpu.cublasCreate_v2(&blas));
    ok("cublasSetStream", gpu.cublasSetStream_v2(blas, stream));
    ok("cudaMemset", gpu.cudaMemsetAsync(from, 0, TIMED_BYTES, stream));
}

static void open_communicator(void)
{
    struct unique_id id;
    ok("ncclGetUniqueId", gpu.ncclGetUniqueId(&id));
    ok("ncclCommInitRank", gpu.ncclCommInitRank(&comm, 1, id, 0));
}

/* ---- the calls ---- */

static int product(void)
{
    static const float one = 1, zero = 0;
    return gpu.cublasGemmEx(blas, 0, 0, N, N, N, &one, from, REAL_16F, N, from, REAL_16F, N, &zero,
                            to, REAL_16F, N, COMPUTE_32F, -1);
}

static int all_reduce(void)
{
    return gpu.ncclAllReduce(from, to, 256, NCCL_FLOAT32, 0, comm, stream);
}

static int copy_timed(void)
{
    return gpu.cudaMemcpyAsync(to, from, TIMED_BYTES, DEVICE_TO_DEVICE, stream);
}

static int fill_short(void)
{
    return gpu.cudaMemsetAsync(to, 0, SHORT_BYTES, stream);
}

static int launch(void)
{
    return gpu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

static int record_event(void)
{
    return gpu.cudaEventRecord(event, stream);
}

static int wait_event(void)
{
    return gpu.cudaStreamWaitEvent(stream, event, 0);
}

static const struct {
    const char *name;
    int (*call)(void);
} rows[] = {
    {"cublasGemmEx", product},           {"ncclAllReduce", all_reduce},
    {"cudaMemcpyAsync", copy_timed},     {"cudaMemsetAsync", fill_short},
    {"cuLaunchKernel", launch},          {"cudaEventRecord", record_event},
    {"cudaStreamWaitEvent", wait_event},
};

static int64_t clock_ns(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double burst_ns(int (*call)(void), const char *name)
{
    int64_t begun = clock_ns(CLOCK_MONOTONIC), taken;
    int status = 0;
    for (int i = 0; i < BURST; i++)
        status |= call();
    taken = clock_ns(CLOCK_MONOTONIC) - begun;
    ok(name, status);
    ok("cudaStreamSynchronize", gpu.cudaStreamSynchronize(stream));
    usleep(HARVEST_US);
    return (double)taken / BURST;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first burst is not counted: memory is touched, code is loaded. */
static void tell_calls(int bursts)
{
    static double ns[BURSTS_MAX];
    open_communicator();
    make_kernel();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        burst_ns(rows[i].call, rows[i].name);
        for (int n = 0; n < bursts; n++)
            ns[n] = burst_ns(rows[i].call, rows[i].name);
        qsort(ns, (size_t)bursts, sizeof *ns, by_value);
        printf("%s %.1f %d\n", rows[i].name, ns[bursts / 2], BURST * (bursts + 1));
    }
}

/* ---- the harvester ---- */

/* CPU time and wake-ups of the tracer's own threads. */
struct own {
    int threads;
    int64_t cpu_ns, wakeups;
};

/* The value behind `key` in a file of /proc, -1 where there is none. */
static long long value_of(const char *path, const char *key)
{
    char line[256];
    long long value = -1;
    FILE *f = fopen(path, "r");
    while (f != NULL && value < 0 && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoll(line + strlen(key), NULL, 10);
    }
    if (f != NULL)
        fclose(f);
    return value;
}

static int is_own(const char *tid)
{
    char path[300], name[32] = "";
    FILE *f;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", tid);
    if ((f = fopen(path, "r")) != NULL) {
        if (fgets(name, sizeof name, f) == NULL)
            name[0] = '\0';
        fclose(f);
    }
    return strncmp(name, "specter-", 8) == 0;
}

/* The clock of a thread's CPU time, as pthread_getcpuclockid() would name it. */
static clockid_t cpu_clock(const char *tid)
{
    return (clockid_t)(~(unsigned)atoi(tid) << 3 | 6);
}

static struct own look(void)
{
    struct own sum = {0, 0, 0};
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[300];
        if (entry->d_name[0] == '.' || !is_own(entry->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        sum.threads++;
        sum.cpu_ns += clock_ns(cpu_clock(entry->d_name));
        sum.wakeups += value_of(path, "voluntary_ctxt_switches:");
    }
    if (dir != NULL)
        closedir(dir);
    return sum;
}

/* Each millisecond as many as are due by then, within what a queue holds: what could not be issued
 * in time is made up for later. Whole queues go without a pause. */
static int64_t issue(int64_t rate, int64_t until_ns)
{
    int64_t begun = clock_ns(CLOCK_MONOTONIC), now = begun, done = 0;
    int status = 0;
    while (now < until_ns) {
        int64_t due = rate * (now - begun) / 1000000000 - done;
        int64_t now_due = due < BURST ? due : BURST;
        for (int64_t i = 0; i < now_due; i++)
            status |= product();
        done += now_due;
        if (due < BURST)
            usleep(1000);
        now = clock_ns(CLOCK_MONOTONIC);
    }
    ok("cublasGemmEx", status);
    return done;
}

/* Products, nanoseconds, then of the tracer's threads: how many, CPU nanoseconds, wakeups; resident
 * KiB and bytes of device memory that are in use. */
static void tell_load(int64_t rate, double seconds)
{
    size_t left, total;
    struct own before, after;
    int64_t begun, taken, done;
    ok("cublasGemmEx", product());
    ok("cudaStreamSynchronize", gpu.cudaStreamSynchronize(stream));
    usleep(rate == 0 ? IDLE_US : SETTLE_US);
    before = look();
    begun = clock_ns(CLOCK_MONOTONIC);
    done = issue(rate, begun + (int64_t)(seconds * 1e9));
    taken = clock_ns(CLOCK_MONOTONIC) - begun;
    after = look();
    ok("cudaMemGetInfo", gpu.cudaMemGetInfo(&left, &total));
    printf("%lld %lld %d %lld %lld %lld %zu\n", (long long)done, (long long)taken, after.threads,
           (long long)(after.cpu_ns - before.cpu_ns), (long long)(after.wakeups - before.wakeups),
           value_of("/proc/self/status", "VmRSS:"), total - left);
    ok("cudaStreamSynchronize", gpu.cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    int bursts = argc == 3 && strcmp(argv[1], "calls") == 0 ? atoi(argv[2]) : 0;
    int loads = argc == 4 && strcmp(argv[1], "load") == 0;
    if ((bursts < 1 || bursts > BURSTS_MAX) && !loads) {
        fputs("usage: hook_cost calls BURSTS | load RATE SECONDS\n", stderr);
        return 2;
    }
    open_device();
    if (loads)
        tell_load(atoll(argv[2]), atof(argv[3]));
    else
        tell_calls(bursts);
    return 0;
}

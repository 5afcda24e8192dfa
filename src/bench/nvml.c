/* SPDX-License-Identifier: MIT */
#include "bench/state.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEM = 2, SENSOR_GPU = 0, NO_PERMISSION = 4 };
enum { NVLINKS_MAX = 64, REMOTE_SWITCH = 2 };

struct utilization {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, unused, used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute_instance;
};

/* nvmlPciInfo_t */
struct pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem;
    char id[32];
};

/* X(name here, parameters, symbol) */
#define FUNCTIONS(X)                                                                        \
    X(Init, (void), "nvmlInit_v2")                                                          \
    X(Driver, (char *, unsigned), "nvmlSystemGetDriverVersion")                             \
    X(Count, (unsigned *), "nvmlDeviceGetCount_v2")                                         \
    X(ByIndex, (unsigned, void **), "nvmlDeviceGetHandleByIndex_v2")                        \
    X(ByBusId, (const char *, void **), "nvmlDeviceGetHandleByPciBusId_v2")                 \
    X(Index, (void *, unsigned *), "nvmlDeviceGetIndex")                                    \
    X(Clock, (void *, int, unsigned *), "nvmlDeviceGetClockInfo")                           \
    X(MaxClock, (void *, int, unsigned *), "nvmlDeviceGetMaxClockInfo")                     \
    X(Power, (void *, unsigned *), "nvmlDeviceGetPowerUsage")                               \
    X(PowerLimit, (void *, unsigned *), "nvmlDeviceGetEnforcedPowerLimit")                  \
    X(Temperature, (void *, int, unsigned *), "nvmlDeviceGetTemperature")                   \
    X(Utilization, (void *, struct utilization *), "nvmlDeviceGetUtilizationRates")         \
    X(Memory, (void *, struct memory *), "nvmlDeviceGetMemoryInfo")                         \
    X(Reasons, (void *, unsigned long long *), "nvmlDeviceGetCurrentClocksThrottleReasons") \
    X(Processes, (void *, unsigned *, struct nvml_process *),                               \
      "nvmlDeviceGetComputeRunningProcesses_v3")                                            \
    X(Cpus, (void *, unsigned, unsigned long *), "nvmlDeviceGetCpuAffinity")                \
    X(Pci, (void *, struct pci *), "nvmlDeviceGetPciInfo_v3")                               \
    X(Ancestor, (void *, void *, int *), "nvmlDeviceGetTopologyCommonAncestor")             \
    X(LinkState, (void *, unsigned, int *), "nvmlDeviceGetNvLinkState")                     \
    X(LinkRemote, (void *, unsigned, struct pci *), "nvmlDeviceGetNvLinkRemotePciInfo_v2")  \
    X(LinkType, (void *, unsigned, int *), "nvmlDeviceGetNvLinkRemoteDeviceType")           \
    X(Lock, (void *, unsigned, unsigned), "nvmlDeviceSetGpuLockedClocks")                   \
    X(Unlock, (void *), "nvmlDeviceResetGpuLockedClocks")

static struct {
#define X(name, params, symbol) int(*name) params;
    FUNCTIONS(X)
#undef X
    const char *(*ErrorString)(int);
} call;

static char driver[80];
static struct err why_not; /* ERR_NONE: NVML is open */

static void bind(void *library, const char *symbol, void *slot)
{
    void *found = dlsym(library, symbol);
    memcpy(slot, &found, sizeof found);
}

static const char *error_text(int error)
{
    const char *text = call.ErrorString != NULL ? call.ErrorString(error) : NULL;
    return text != NULL ? text : "unknown error";
}

static void open_library(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int error;
    if (library == NULL) {
        err_set(&why_not, ERR_INPUT, "no libnvidia-ml.so.1 here");
        return;
    }
#define X(name, params, symbol) bind(library, symbol, &call.name);
    FUNCTIONS(X)
#undef X
    bind(library, "nvmlErrorString", &call.ErrorString);
    if (call.Init == NULL || call.Count == NULL || call.ByIndex == NULL || call.ByBusId == NULL) {
        err_set(&why_not, ERR_INPUT, "libnvidia-ml.so.1 has no nvmlInit_v2");
        return;
    }
    error = call.Init();
    if (error != 0)
        err_set(&why_not, ERR_INPUT, "NVML: %s", error_text(error));
    else if (call.Driver != NULL && call.Driver(driver, sizeof driver) != 0)
        driver[0] = '\0';
}

static int ready(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    if (why_not.code == ERR_NONE)
        return 0;
    return err_set(e, why_not.code, "%s", why_not.msg);
}

/* ---- devices ---- */

int bench_nvml_count(struct err *e)
{
    unsigned count = 0;
    int error = ready(e) < 0 ? -1 : call.Count(&count);
    if (error > 0)
        err_set(e, ERR_INPUT, "NVML: %s", error_text(error));
    else if (error == 0 && count == 0)
        err_set(e, ERR_INPUT, "NVML knows no GPU");
    return error == 0 ? (int)count : 0;
}

const char *bench_nvml_driver(void)
{
    return ready(NULL) == 0 ? driver : "";
}

void *bench_nvml_device(const char *bus_id, struct err *e)
{
    void *device = NULL;
    int error = ready(e) < 0 ? -1 : call.ByBusId(bus_id, &device);
    if (error > 0)
        err_set(e, ERR_INPUT, "NVML: GPU %s: %s", bus_id, error_text(error));
    return error == 0 ? device : NULL;
}

void *bench_nvml_device_at(int index, struct err *e)
{
    void *device = NULL;
    int error = ready(e) < 0 ? -1 : call.ByIndex((unsigned)index, &device);
    if (error > 0)
        err_set(e, ERR_INPUT, "NVML: GPU %d: %s", index, error_text(error));
    return error == 0 ? device : NULL;
}

int bench_nvml_index(void *device)
{
    unsigned index;
    return device != NULL && call.Index != NULL && call.Index(device, &index) == 0 ? (int)index
                                                                                   : -1;
}

/* ---- topology ---- */

/* NVLinks of `a` that lead to `b`; those into a switch lead to every GPU. */
static int nvlinks_to(void *a, void *b)
{
    struct pci other, remote;
    int n = 0;
    if (call.LinkState == NULL || call.Pci == NULL || call.Pci(b, &other) != 0)
        return 0;
    for (unsigned link = 0; link < NVLINKS_MAX; link++) {
        int active = 0, type = -1;
        if (call.LinkState(a, link, &active) != 0 || !active)
            continue;
        if (call.LinkType != NULL && call.LinkType(a, link, &type) == 0 && type == REMOTE_SWITCH)
            n++;
        else if (call.LinkRemote != NULL && call.LinkRemote(a, link, &remote) == 0)
            n += remote.domain == other.domain && remote.bus == other.bus &&
                 remote.device == other.device;
    }
    return n;
}

void bench_nvml_connection(void *a, void *b, char text[BENCH_CONNECTION_MAX])
{
    static const char *const levels[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
    int level = -1, links = a != NULL && b != NULL && a != b ? nvlinks_to(a, b) : 0;
    if (a != NULL && b != NULL && call.Ancestor != NULL && call.Ancestor(a, b, &level) != 0)
        level = -1;
    level = a != NULL && a == b ? 0 : level; /* the levels are 10 apart */
    if (links > 0)
        snprintf(text, BENCH_CONNECTION_MAX, "NV%d", links);
    else
        snprintf(text, BENCH_CONNECTION_MAX, "%s",
                 level >= 0 && level / 10 < (int)(sizeof levels / sizeof *levels)
                     ? levels[level / 10]
                     : "?");
}

/* ---- state ---- */

static int clock_of(int (*function)(void *, int, unsigned *), void *device, int domain)
{
    unsigned MHz;
    return function != NULL && function(device, domain, &MHz) == 0 ? (int)MHz : -1;
}

static double watts_of(int (*function)(void *, unsigned *), void *device)
{
    unsigned mW;
    return function != NULL && function(device, &mW) == 0 ? mW / 1e3 : -1;
}

/* -1: not known. */
static int celsius_of(void *device)
{
    unsigned celsius;
    return call.Temperature != NULL && call.Temperature(device, SENSOR_GPU, &celsius) == 0
               ? (int)celsius
               : -1;
}

double bench_nvml_celsius(const char *bus_id)
{
    void *device = bench_nvml_device(bus_id, NULL);
    const int celsius = device != NULL ? celsius_of(device) : -1;
    return celsius < 0 ? (double)NAN : celsius;
}

void bench_nvml_read(void *device, struct bench_gpu_state *out)
{
    struct utilization busy;
    struct memory memory;
    unsigned long long reasons;
    *out = (struct bench_gpu_state){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    if (device == NULL)
        return;
    out->sm_MHz = clock_of(call.Clock, device, CLOCK_SM);
    out->sm_max_MHz = clock_of(call.MaxClock, device, CLOCK_SM);
    out->mem_MHz = clock_of(call.Clock, device, CLOCK_MEM);
    out->mem_max_MHz = clock_of(call.MaxClock, device, CLOCK_MEM);
    out->graphics_MHz = clock_of(call.Clock, device, CLOCK_GRAPHICS);
    out->power_W = watts_of(call.Power, device);
    out->limit_W = watts_of(call.PowerLimit, device);
    out->celsius = celsius_of(device);
    if (call.Utilization != NULL && call.Utilization(device, &busy) == 0)
        out->busy = (int)busy.gpu;
    if (call.Memory != NULL && call.Memory(device, &memory) == 0)
        out->memory_MiB = (double)memory.used / 1048576;
    if (call.Reasons != NULL && call.Reasons(device, &reasons) == 0)
        out->reasons = (long long)reasons;
}

int bench_nvml_processes(void *device, int *pids, int max)
{
    struct nvml_process all[256];
    unsigned count = sizeof all / sizeof *all;
    if (device == NULL || call.Processes == NULL || call.Processes(device, &count, all) != 0)
        return -1;
    for (unsigned i = 0; i < count && (int)i < max; i++)
        pids[i] = (int)all[i].pid;
    return (int)count;
}

bool bench_nvml_cpus(void *device, cpu_set_t *cpus)
{
    unsigned long words[CPU_SETSIZE / (8 * sizeof(unsigned long))] = {0};
    const unsigned count = sizeof words / sizeof *words, bits = 8 * sizeof *words;
    CPU_ZERO(cpus);
    if (device == NULL || call.Cpus == NULL || call.Cpus(device, count, words) != 0)
        return false;
    for (unsigned i = 0; i < count * bits; i++) {
        if (words[i / bits] >> i % bits & 1)
            CPU_SET(i, cpus);
    }
    return CPU_COUNT(cpus) > 0;
}

static int changed(int error, struct err *e)
{
    if (error == 0)
        return 0;
    return err_set(e, ERR_INPUT, "NVML: %s%s", error_text(error),
                   error == NO_PERMISSION ? " (it takes root)" : "");
}

int bench_nvml_lock(void *device, int MHz, struct err *e)
{
    if (device == NULL || call.Lock == NULL || call.Unlock == NULL)
        return err_set(e, ERR_INPUT, "NVML has no nvmlDeviceSetGpuLockedClocks");
    return changed(call.Lock(device, (unsigned)MHz, (unsigned)MHz), e);
}

int bench_nvml_unlock(void *device, struct err *e)
{
    return changed(call.Unlock(device), e);
}

static const struct {
    long long bit;
    const char *word;
} reason_names[] = {
    {0x1, "idle"},        {0x2, "applications_clocks"}, {0x4, "power_cap"},
    {0x8, "hw_slowdown"}, {0x10, "sync_boost"},         {0x20, "sw_thermal"},
    {0x40, "hw_thermal"}, {0x80, "power_brake"},        {0x100, "display_clocks"},
};

const char *bench_reasons_text(long long reasons, char text[BENCH_REASONS_MAX])
{
    size_t len = 0;
    strcpy(text, reasons < 0 ? "unknown" : "none");
    for (size_t i = 0; i < sizeof reason_names / sizeof *reason_names && reasons > 0; i++) {
        if (reasons & reason_names[i].bit)
            len += (size_t)snprintf(text + len, BENCH_REASONS_MAX - len, "%s%s", len > 0 ? "+" : "",
                                    reason_names[i].word);
    }
    return text;
}

long long bench_reasons_parse(const char *text)
{
    long long reasons = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    for (size_t len; *text != '\0'; text += len + (text[len] == '+')) {
        long long bit = 0;
        len = strcspn(text, "+");
        for (size_t i = 0; i < sizeof reason_names / sizeof *reason_names; i++) {
            if (strlen(reason_names[i].word) == len && memcmp(text, reason_names[i].word, len) == 0)
                bit = reason_names[i].bit;
        }
        if (bit == 0)
            return -1;
        reasons |= bit;
    }
    return reasons > 0 ? reasons : -1;
}

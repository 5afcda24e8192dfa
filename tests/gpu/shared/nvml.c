/* SPDX-License-Identifier: MIT */
#include "nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { CLOCK_SM = 1, CLOCK_MEM = 2, SENSOR_GPU = 0 };

/* X(name here, parameters, symbol) */
#define FUNCTIONS(X)                                                        \
    X(Init, (void), "nvmlInit_v2")                                          \
    X(Driver, (char *, unsigned), "nvmlSystemGetDriverVersion")             \
    X(ByIndex, (unsigned, void **), "nvmlDeviceGetHandleByIndex_v2")        \
    X(ByBusId, (const char *, void **), "nvmlDeviceGetHandleByPciBusId_v2") \
    X(Clock, (void *, int, unsigned *), "nvmlDeviceGetClockInfo")           \
    X(MaxClock, (void *, int, unsigned *), "nvmlDeviceGetMaxClockInfo")     \
    X(Power, (void *, unsigned *), "nvmlDeviceGetPowerUsage")               \
    X(PowerLimit, (void *, unsigned *), "nvmlDeviceGetEnforcedPowerLimit")  \
    X(Temperature, (void *, int, unsigned *), "nvmlDeviceGetTemperature")   \
    X(Reasons, (void *, unsigned long long *), "nvmlDeviceGetCurrentClocksThrottleReasons")

static struct {
#define X(_name, _params, _symbol) int(*_name) _params;
    FUNCTIONS(X)
#undef X
} call;

static void bind(void *library, const char *symbol, void *slot)
{
    void *found = dlsym(library, symbol);

    memcpy(slot, &found, sizeof found);
}

int nvml_open(struct nvml *nvml, const char *bus_id)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int error;

    memset(nvml, 0, sizeof *nvml);
    if (library == NULL)
        return -1;
#define X(_name, _params, _symbol) bind(library, _symbol, &call._name);
    FUNCTIONS(X)
#undef X
    if (call.Init == NULL || call.ByIndex == NULL || call.Init() != 0)
        return -1;
    error = bus_id != NULL && call.ByBusId != NULL ? call.ByBusId(bus_id, &nvml->device)
                                                   : call.ByIndex(0, &nvml->device);
    if (error != 0)
        nvml->device = NULL;
    if (call.Driver == NULL || call.Driver(nvml->driver, sizeof nvml->driver) != 0)
        nvml->driver[0] = '\0';
    return nvml->device != NULL ? 0 : -1;
}

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

void nvml_look(const struct nvml *nvml, struct gpu_state *out)
{
    unsigned celsius;
    unsigned long long reasons;

    *out = (struct gpu_state){-1, -1, -1, -1, -1, -1, -1, -1};
    if (nvml->device == NULL)
        return;
    out->sm_MHz = clock_of(call.Clock, nvml->device, CLOCK_SM);
    out->sm_max_MHz = clock_of(call.MaxClock, nvml->device, CLOCK_SM);
    out->mem_MHz = clock_of(call.Clock, nvml->device, CLOCK_MEM);
    out->mem_max_MHz = clock_of(call.MaxClock, nvml->device, CLOCK_MEM);
    out->power_W = watts_of(call.Power, nvml->device);
    out->limit_W = watts_of(call.PowerLimit, nvml->device);
    if (call.Temperature != NULL && call.Temperature(nvml->device, SENSOR_GPU, &celsius) == 0)
        out->celsius = (int)celsius;
    if (call.Reasons != NULL && call.Reasons(nvml->device, &reasons) == 0)
        out->reasons = (long long)reasons;
}

const char *nvml_reason_words(long long reasons)
{
    static const struct {
        long long bit;
        const char *word;
    } words[] = {
        {0x1, "idle"},        {0x2, "applications_clocks"}, {0x4, "power_cap"},
        {0x8, "hw_slowdown"}, {0x10, "sync_boost"},         {0x20, "sw_thermal"},
        {0x40, "hw_thermal"}, {0x80, "power_brake"},        {0x100, "display_clocks"},
    };
    static char text[160];
    size_t len = 0;

    if (reasons < 0)
        return "unknown";
    strcpy(text, "none");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (reasons & words[i].bit)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", len > 0 ? "+" : "",
                                    words[i].word);
    }
    return text;
}

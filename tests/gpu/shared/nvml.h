/* SPDX-License-Identifier: MIT
 *
 * The state of a GPU as NVML tells it: clocks, power, temperature, what holds the clock down. Only
 * read; nothing here changes a setting. libnvidia-ml.so.1 is opened at run time, and what an older
 * one lacks stays at -1.
 *
 *     struct nvml nvml;
 *     struct gpu_state state;
 *     if (nvml_open(&nvml, NULL) == 0)
 *         nvml_look(&nvml, &state);
 */
#ifndef SPECTER_GPU_NVML_H
#define SPECTER_GPU_NVML_H

struct nvml {
    void *device;
    char driver[80];
};

struct gpu_state {
    int sm_MHz, sm_max_MHz, mem_MHz, mem_max_MHz;
    double power_W, limit_W; /* limit: what is enforced now */
    int celsius;
    long long reasons; /* bits of nvmlClocksEventReasons; 0: nothing holds the clock down */
};

/* The device of that PCI bus id, or NULL: the first one. 0, or -1 where there is no NVML. */
int nvml_open(struct nvml *nvml, const char *bus_id);

/* All -1 where it was never opened. */
void nvml_look(const struct nvml *nvml, struct gpu_state *out);

/* The names of the bits, joined by +; "none". Static until the next call. */
const char *nvml_reason_words(long long reasons);

#endif

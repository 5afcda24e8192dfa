/* SPDX-License-Identifier: MIT
 *
 * Inside libnvidia-ml.so.1: handles and errors, with the numbers of NVML's public interface.
 * Devices are the node's, by the process's RANK, else those of node 0; CUDA_VISIBLE_DEVICES does
 * not apply.
 */
#ifndef EMU_NVML_H
#define EMU_NVML_H

#include "fabric.h"

typedef struct nvmlDevice_st {
    unsigned index;  /* on the node */
    unsigned number; /* in the machine */
} * nvmlDevice_t;

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7
};

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

/* A function that no header here declares. */
#define NVML(_ret, _fn, _params) \
    EMU_API _ret _fn _params;    \
    _ret _fn _params

/* As NVML() for a device: an error where there is none, else what _do says. */
#define NVML_DEVICE(_fn, _params, _do)  \
    NVML(int, _fn, _params)             \
    {                                   \
        int error = nvml_check(device); \
                                        \
        return error ? error : (_do);   \
    }

#define NVML_DEVICES_MAX 64

unsigned nvml_count(void);
int nvml_check(nvmlDevice_t device); /* an error, or 0 */
int nvml_device(unsigned index, nvmlDevice_t *device);
void nvml_pci_fill(struct nvml_pci *pci, unsigned bus);

#endif

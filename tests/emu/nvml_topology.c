/* SPDX-License-Identifier: MIT
 *
 * libnvidia-ml.so.1: where devices sit and what connects them. NVLinks go to switches, or, without
 * any, in turns to the other GPUs of the node. Halves of the node's GPUs, or as many parts as
 * numa_nodes of the fabric says, belong to the NUMA nodes in turn, and so do the processors of this
 * machine.
 */
#include "nvml.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* enum nvmlGpuTopologyLevel */
enum { LEVEL_INTERNAL = 0, LEVEL_NODE = 40, LEVEL_SYSTEM = 50 };

/* enum nvmlIntNvLinkDeviceType */
enum { REMOTE_GPU = 0, REMOTE_SWITCH = 2 };

#define LINKS_MAX 18
#define SWITCH_BUS 0x05u /* of the first switch; GPUs have others */

/* ---- NVLink ---- */

static int check_link(unsigned link)
{
    if (link >= LINKS_MAX || link >= emu_fabric()->nvlinks)
        return NVML_ERROR_INVALID_ARGUMENT;
    return emu_fabric()->nvswitches || nvml_count() > 1 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* Switches and GPUs take the links in turns. */
static void remote_of(const struct nvmlDevice_st *device, unsigned link, struct nvml_pci *pci)
{
    unsigned switches = (unsigned)emu_fabric()->nvswitches, peer;
    if (switches) {
        nvml_pci_fill(pci, SWITCH_BUS + link % switches);
        pci->device_id = 0x22a310deu;
        return;
    }
    peer = (device->index + 1 + link % (nvml_count() - 1)) % nvml_count();
    nvml_pci_fill(pci, EMU_BUS(peer));
}

static int remote_info(const struct nvmlDevice_st *device, unsigned link, struct nvml_pci *pci)
{
    int error = check_link(link);
    if (!error)
        remote_of(device, link, pci);
    return error;
}

NVML_DEVICE(nvmlDeviceGetNvLinkState, (nvmlDevice_t device, unsigned link, int *active),
            check_link(link) ? check_link(link) : (*active = 1, 0))
NVML_DEVICE(nvmlDeviceGetNvLinkVersion, (nvmlDevice_t device, unsigned link, unsigned *version),
            check_link(link) ? check_link(link)
                             : (*version = emu_fabric()->sm_major >= 9 ? 4 : 3, 0))
NVML_DEVICE(nvmlDeviceGetNvLinkRemotePciInfo_v2,
            (nvmlDevice_t device, unsigned link, struct nvml_pci *pci),
            remote_info(device, link, pci))
NVML_DEVICE(nvmlDeviceGetNvLinkRemoteDeviceType, (nvmlDevice_t device, unsigned link, int *type),
            check_link(link) ? check_link(link)
                             : (*type = emu_fabric()->nvswitches ? REMOTE_SWITCH : REMOTE_GPU, 0))

/* ---- places ---- */

/* Part `i` of `all` in order, of so many parts. */
static unsigned part_of(unsigned i, unsigned all)
{
    unsigned parts = (unsigned)emu_fabric()->numa_nodes;
    if (parts > all)
        parts = all;
    return i * parts / all;
}

static unsigned numa_of(const struct nvmlDevice_st *device)
{
    return part_of(device->index, nvml_count());
}

static int level_of(const struct nvmlDevice_st *a, const struct nvmlDevice_st *b)
{
    if (a == b)
        return LEVEL_INTERNAL;
    return numa_of(a) == numa_of(b) ? LEVEL_NODE : LEVEL_SYSTEM;
}

static void set_bit(unsigned long *set, unsigned words, unsigned bit)
{
    const unsigned per_word = sizeof *set * CHAR_BIT;
    if (bit / per_word < words)
        set[bit / per_word] |= 1ul << bit % per_word;
}

/* Where there are fewer processors than NUMA nodes, those share them. */
static int processors_of(const struct nvmlDevice_st *device, unsigned words, unsigned long *set)
{
    long found = sysconf(_SC_NPROCESSORS_CONF);
    unsigned count = found > 0 ? (unsigned)found : 1;
    unsigned parts = (unsigned)emu_fabric()->numa_nodes;
    memset(set, 0, words * sizeof *set);
    for (unsigned i = 0; i < count; i++)
        if (part_of(i, count) == numa_of(device) % (parts < count ? parts : count))
            set_bit(set, words, i);
    return NVML_SUCCESS;
}

static int memory_of(const struct nvmlDevice_st *device, unsigned words, unsigned long *set)
{
    memset(set, 0, words * sizeof *set);
    set_bit(set, words, numa_of(device));
    return NVML_SUCCESS;
}

/* *count: 0 in asks for the number; else so many are filled. */
static int nearest(const struct nvmlDevice_st *device, int level, unsigned *count,
                   nvmlDevice_t *out)
{
    unsigned room = *count, found = 0;
    for (unsigned i = 0; i < nvml_count(); i++) {
        nvmlDevice_t other = NULL;
        if (i == device->index || nvml_device(i, &other))
            continue;
        if (level_of(device, other) > level)
            continue;
        if (out != NULL && found < room)
            out[found] = other;
        found++;
    }
    *count = room && found > room ? room : found;
    return NVML_SUCCESS;
}

NVML_DEVICE(nvmlDeviceGetTopologyCommonAncestor,
            (nvmlDevice_t device, nvmlDevice_t other, int *level),
            other ? (*level = level_of(device, other), 0) : NVML_ERROR_INVALID_ARGUMENT)
NVML_DEVICE(nvmlDeviceGetTopologyNearestGpus,
            (nvmlDevice_t device, int level, unsigned *count, nvmlDevice_t *out),
            nearest(device, level, count, out))
/* Every GPU reaches every other one of its node: status 0. */
NVML_DEVICE(nvmlDeviceGetP2PStatus,
            (nvmlDevice_t device, nvmlDevice_t other, int what, int *status),
            ((void)what, other ? (*status = 0, 0) : NVML_ERROR_INVALID_ARGUMENT))
NVML_DEVICE(nvmlDeviceGetNumaNodeId, (nvmlDevice_t device, unsigned *node),
            (*node = numa_of(device), 0))
NVML_DEVICE(nvmlDeviceGetCpuAffinity, (nvmlDevice_t device, unsigned words, unsigned long *set),
            processors_of(device, words, set))
NVML_DEVICE(nvmlDeviceGetCpuAffinityWithinScope,
            (nvmlDevice_t device, unsigned words, unsigned long *set, int scope),
            ((void)scope, processors_of(device, words, set)))
NVML_DEVICE(nvmlDeviceGetMemoryAffinity,
            (nvmlDevice_t device, unsigned words, unsigned long *set, int scope),
            ((void)scope, memory_of(device, words, set)))

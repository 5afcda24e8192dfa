/* SPDX-License-Identifier: MIT
 *
 * NCCL's one place for a profiler plugin, which libspecter.so wants for --nccl-plugin. NCCL takes
 * the plugin that NCCL_PROFILER_PLUGIN names, in the environment or in its configuration file, else
 * libnccl-profiler.so, else its network plugin where that is a profiler too; images bring either
 * for telemetry.
 */
#ifndef SPECTER_CMD_NCCL_SLOT_H
#define SPECTER_CMD_NCCL_SLOT_H

struct arena;
struct loader;

#define NCCL_SLOT_VARIABLE "NCCL_PROFILER_PLUGIN"

enum nccl_slot_by { SLOT_FREE, SLOT_ENVIRONMENT, SLOT_FILE, SLOT_LIBRARY };

struct nccl_slot {
    enum nccl_slot_by by;
    const char
        *what; /* the variable's value, or the library's path; the arena's, or the environment's */
    const char *file; /* of SLOT_FILE: the configuration file */
};

struct nccl_slot nccl_slot_find(struct arena *a, const struct loader *l);

#endif

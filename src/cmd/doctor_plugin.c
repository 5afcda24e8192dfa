/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: who has NCCL's places for plugins, and what a profiler plugin costs.
 */
#include "cmd/cmd.h"
#include "cmd/doctor.h"
#include "cmd/nccl_slot.h"

#include <stdlib.h>
#include <string.h>

static bool is_ours(struct doctor *d, const char *plugin)
{
    const char *library = NULL;
    struct err e;
    return cmd_library(&d->arena, &library, &e) == 0 && strcmp(plugin, library) == 0;
}

static void check_profiler(struct doctor *d)
{
    static const char advice[] = "unset it if NCCL's own view of an operation is wanted";
    struct nccl_slot slot = nccl_slot_find(&d->arena, &d->loader);
    switch (slot.by) {
    case SLOT_ENVIRONMENT:
        if (is_ours(d, slot.what))
            doctor_print(d, DOCTOR_OK, "plugin", NULL,
                         NCCL_SLOT_VARIABLE " is libspecter.so, as --nccl-plugin sets it");
        else
            doctor_print(d, DOCTOR_WARNING, "plugin", advice,
                         NCCL_SLOT_VARIABLE
                         " is '%s': NCCL has one place for a profiler, and this takes it",
                         slot.what);
        break;
    case SLOT_FILE:
        doctor_print(d, DOCTOR_WARNING, "plugin",
                     "nothing, unless both are wanted: --nccl-plugin takes its place",
                     "'%s' has " NCCL_SLOT_VARIABLE "=%s: NCCL has one place for a profiler",
                     slot.file, slot.what);
        break;
    case SLOT_LIBRARY:
        doctor_print(d, DOCTOR_WARNING, "plugin",
                     "nothing, unless both are wanted: --nccl-plugin takes its place",
                     "NCCL has one place for a profiler, and loads '%s' into it", slot.what);
        break;
    case SLOT_FREE:
        break;
    }
}

static void check_tuner(struct doctor *d)
{
    const char *value = getenv("NCCL_TUNER_PLUGIN");
    if (value != NULL && value[0] != '\0')
        doctor_print(d, DOCTOR_OK, "plugin", NULL, "NCCL_TUNER_PLUGIN is '%s'", value);
}

void doctor_check_plugins(struct doctor *d)
{
    size_t before = d->count;
    check_profiler(d);
    check_tuner(d);
    if (d->count == before)
        doctor_print(d, DOCTOR_OK, "plugin", NULL,
                     "NCCL's places for a profiler and a tuner are free");
    doctor_print(
        d, DOCTOR_OK, "plugin", NULL,
        "kernel events, as --nccl-plugin asks for them, cost 0.1-1.1 %% with NCCL 2.29.7 and "
        "4.3-13.3 %% with 2.31.2 (NVIDIA/nccl issue 2355)");
}

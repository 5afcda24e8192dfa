/* SPDX-License-Identifier: MIT */
#include "cmd/nccl_slot.h"

#include "base/arena.h"
#include "base/elf_file.h"
#include "cmd/loader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a line NAME=VALUE of a configuration file says; NULL: it has none. */
static const char *value_in(struct arena *a, const char *path, const char *name)
{
    size_t len = strlen(name), size = 0;
    char *line = NULL;
    const char *value = NULL;
    FILE *in = fopen(path, "re");
    while (in != NULL && value == NULL && getline(&line, &size, in) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (strncmp(line, name, len) == 0 && line[len] == '=')
            value = arena_strdup(a, line + len + 1);
    }
    if (in != NULL)
        fclose(in);
    free(line);
    return value;
}

static bool is_profiler(const char *path)
{
    struct elf_file f;
    struct elf_symbol s;
    bool found = false;
    if (elf_file_open(&f, path, NULL) < 0)
        return false;
    for (size_t i = 0; !found && elf_file_symbol(&f, i, &s); i++)
        found = s.defined && strncmp(s.name, "ncclProfiler_v", 14) == 0;
    elf_file_close(&f);
    return found;
}

static struct nccl_slot in_libraries(struct arena *a, const struct loader *l)
{
    const char *net = getenv("NCCL_NET_PLUGIN");
    const char *const names[] = {
        "libnccl-profiler.so",
        net != NULL && strchr(net, '/') == NULL && strncmp(net, "lib", 3) != 0
            ? arena_printf(a, "libnccl-net-%s.so", net)
            : net,
        "libnccl-net.so",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found = names[i] != NULL ? loader_file(&l->dirs, a, names[i]) : NULL;
        if (found != NULL && is_profiler(found))
            return (struct nccl_slot){SLOT_LIBRARY, found, NULL};
    }
    return (struct nccl_slot){SLOT_FREE, NULL, NULL};
}

struct nccl_slot nccl_slot_find(struct arena *a, const struct loader *l)
{
    const char *value = getenv(NCCL_SLOT_VARIABLE);
    const char *chosen = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
    /* NCCL_CONF_FILE, else the user's, and then the machine's. */
    const char *const files[] = {
        chosen != NULL ? chosen : arena_printf(a, "%s/.nccl.conf", home != NULL ? home : ""),
        "/etc/nccl.conf",
    };
    if (value != NULL && value[0] != '\0')
        return (struct nccl_slot){SLOT_ENVIRONMENT, value, NULL};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        value = value_in(a, files[i], NCCL_SLOT_VARIABLE);
        if (value != NULL)
            return (struct nccl_slot){SLOT_FILE, value, files[i]};
    }
    return in_libraries(a, l);
}

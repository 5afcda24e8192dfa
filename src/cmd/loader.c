/* SPDX-License-Identifier: MIT
 *
 * Where libraries are looked for, by the dynamic loader and by NCCL (app.h).
 */
#include "cmd/app.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/elf_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *path_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void dir_list_add(struct dir_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->dirs[i], path) == 0)
            return;
    }
    ARRAY_GROW(list->dirs, list->cap, list->count + 1);
    list->dirs[list->count++] = path;
}

/* Lines "\tlibx.so.1 (libc6,x86-64) => /lib/libx.so.1". */
static void add_cache(struct loader *l, struct arena *a, double limit_s)
{
    static const char *const argv[] = {"/sbin/ldconfig", "-p", NULL};
    struct buf out = BUF_INIT;
    char *line, *rest;
    ask_program(argv, limit_s, &out);
    rest = out.data;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *path = strstr(line, "=> /"), *slash = strrchr(line, '/');
        if (path != NULL)
            dir_list_add(&l->dirs, arena_strndup(a, path + 3, (size_t)(slash - path) - 3));
    }
    buf_release(&out);
}

void loader_init(struct loader *l, struct arena *a, double limit_s)
{
    static const char *const usual[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    const char *list = getenv("LD_LIBRARY_PATH");
    *l = (struct loader){{NULL, 0, 0}, 0};
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ":;");
        if (len > 0)
            dir_list_add(&l->dirs, arena_strndup(a, list, len));
        list += len + (list[len] != '\0');
    }
    l->from_environment = l->dirs.count;
    add_cache(l, a, limit_s);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        dir_list_add(&l->dirs, usual[i]);
}

void loader_release(struct loader *l)
{
    free(l->dirs.dirs);
    l->dirs = (struct dir_list){NULL, 0, 0};
}

const char *loader_file(const struct dir_list *in, struct arena *a, const char *name)
{
    unsigned machine = elf_file_own_machine();
    char full[PATH_MAX];
    if (strchr(name, '/') != NULL)
        return realpath(name, full) != NULL ? arena_strdup(a, full) : NULL;
    for (size_t i = 0; i < in->count; i++) {
        const char *path = arena_printf(a, "%s/%s", in->dirs[i], name);
        struct elf_file f;
        bool usable = elf_file_open(&f, path, NULL) == 0;
        usable = usable && !f.foreign && f.machine == machine;
        elf_file_close(&f);
        if (usable && realpath(path, full) != NULL)
            return arena_strdup(a, full);
    }
    return NULL;
}

/* ---- NCCL's plugin ---- */

/* The value of the line NAME=VALUE of a configuration file; NULL: it has none. */
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

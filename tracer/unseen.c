/* SPDX-License-Identifier: MIT */
#include "unseen.h"

#include "elf.h"
#include "format.h"
#include "resolve.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX 8
#define PATH_MAX_SHOWN 256 /* in bytes of the name; a longer one loses its front */
#define COPIES_MAX 16

struct look {
    struct out *out;
    int shown;
    uintptr_t copies[COPIES_MAX]; /* where the libnccl copies of this namespace begin in memory */
    int ncopies;
};

static void show(struct look *l, const char *kind, const char *path)
{
    size_t len = strlen(path);
    if (l->shown == SHOWN_MAX)
        return;
    put_RAW(l->out, l->shown++ > 0 ? ",{\"kind\":" : "{\"kind\":");
    put_STR(l->out, kind);
    put_RAW(l->out, ",\"path\":");
    put_STR(l->out, len > PATH_MAX_SHOWN ? path + len - PATH_MAX_SHOWN : path);
    put_RAW(l->out, "}");
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    return NULL;
}

static uintptr_t begin_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    }
    return 0;
}

/* pncclAllReduce: what NCCL itself has under both names, a preload like us only without the p. */
static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    struct look *l = data;
    struct link_map object = {.l_addr = info->dlpi_addr, .l_ld = (ElfW(Dyn) *)dynamic_of(info)};
    bool is_nccl = resolve_is_library(info->dlpi_name, resolve_stems[LIB_NCCL]);
    (void)size;
    if (is_nccl && l->ncopies < COPIES_MAX)
        l->copies[l->ncopies++] = begin_of(info);
    if (object.l_ld == NULL || resolve_was_called(object.l_ld))
        return 0;
    if (is_nccl)
        show(l, "uncalled", info->dlpi_name);
    else if (elf_function(&object, "pncclAllReduce") != NULL)
        show(l, "static", info->dlpi_name[0] != '\0' ? info->dlpi_name : "the program itself");
    return 0;
}

/* A line of /proc/self/maps; the first page of a libnccl that this namespace does not have. */
static void look_at_mapping(struct look *l, const char *line)
{
    unsigned long begin, offset;
    const char *path = strchr(line, '/');
    if (path == NULL || !resolve_is_library(path, resolve_stems[LIB_NCCL]) ||
        sscanf(line, "%lx-%*x %*s %lx", &begin, &offset) != 2 || offset != 0)
        return;
    for (int i = 0; i < l->ncopies; i++) {
        if (l->copies[i] == begin)
            return;
    }
    show(l, "namespace", path);
}

static void look_at_mappings(struct look *l)
{
    static char text[8192];
    size_t len = 0;
    ssize_t n;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, text + len, sizeof text - 1 - len)) > 0) {
        char *line = text, *end;
        len += (size_t)n;
        text[len] = '\0';
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            look_at_mapping(l, line);
        }
        len -= (size_t)(line - text);
        memmove(text, line, len);
        if (len == sizeof text - 1) /* no path is that long */
            len = 0;
    }
    if (fd >= 0)
        close(fd);
}

void unseen_put(struct out *o)
{
    struct look l = {.out = o};
    put_RAW(o, "[");
    dl_iterate_phdr(look_at, &l);
    look_at_mappings(&l);
    put_RAW(o, "]");
}

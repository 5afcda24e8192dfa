/* SPDX-License-Identifier: MIT
 *
 * Copies of NCCL in this process that cannot be intercepted, for the closing record (output.h).
 */
#include "output.h"

#include "clock.h"
#include "file.h"
#include "format.h"
#include "loader.h"
#include "objects.h"
#include "resolve.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_MAX 8
#define PATH_MAX_SHOWN 256 /* in bytes of the name; a longer one loses its front */
#define COPIES_MAX 16

#define REFRESH_NS INT64_C(200000000)

struct gap_list {
    struct out *out;
    int shown;
};

/* The libnccl copies of other namespaces, read when a library was last loaded. */
static struct {
    unsigned long long adds; /* libraries loaded so far, in all namespaces */
    int64_t refreshed_ns;
    uintptr_t copies[COPIES_MAX]; /* where the libnccl copies of this namespace begin in memory */
    int ncopies;
    char paths[SHOWN_MAX][PATH_MAX_SHOWN + 1];
    int npaths;
} others;

/* /proc/self/maps. The program may have closed the descriptor and reused its number. */
static int maps = -1;
static struct stat maps_are;

static bool has_maps(void)
{
    struct stat st;
    return maps >= 0 && fstat(maps, &st) == 0 && st.st_dev == maps_are.st_dev &&
           st.st_ino == maps_are.st_ino;
}

void coverage_gaps_begin(void)
{
    maps = file_move_up(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    if (maps >= 0 && fstat(maps, &maps_are) < 0)
        maps_are = (struct stat){0};
}

void coverage_gaps_forked(void)
{
    if (has_maps())
        close(maps);
    maps = -1;
}

/* The end of a path that is too long. */
static const char *end_of(const char *path)
{
    size_t len = strlen(path);
    return len > PATH_MAX_SHOWN ? path + len - PATH_MAX_SHOWN : path;
}

static void show(struct gap_list *l, const char *kind, const char *path)
{
    if (l->shown == SHOWN_MAX)
        return;
    put_RAW(l->out, l->shown++ > 0 ? ",{\"kind\":" : "{\"kind\":");
    put_STR(l->out, kind);
    put_RAW(l->out, ",\"path\":");
    put_STR(l->out, end_of(path));
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

/* pncclAllReduce tells NCCL from a preload such as the tracer, which defines only ncclAllReduce. */
static int note_uncalled(struct dl_phdr_info *info, size_t size, void *data)
{
    struct gap_list *l = data;
    struct link_map object = {.l_addr = info->dlpi_addr, .l_ld = (ElfW(Dyn) *)dynamic_of(info)};
    bool is_nccl = resolve_is_library(info->dlpi_name, resolve_stems[LIB_NCCL]);
    (void)size;
    if (object.l_ld == NULL || resolve_was_called(object.l_ld))
        return 0;
    if (is_nccl)
        show(l, "uncalled", info->dlpi_name);
    else if (elf_function(&object, "pncclAllReduce") != NULL)
        show(l, "static", info->dlpi_name[0] != '\0' ? info->dlpi_name : "the program itself");
    return 0;
}

/* Notes the path of a mapping that is the first page of a libnccl of another namespace. */
static void note_mapping(const char *line)
{
    unsigned long begin, offset;
    const char *path = strchr(line, '/');
    if (path == NULL || !resolve_is_library(path, resolve_stems[LIB_NCCL]) ||
        sscanf(line, "%lx-%*x %*s %lx", &begin, &offset) != 2 || offset != 0)
        return;
    for (int i = 0; i < others.ncopies; i++) {
        if (others.copies[i] == begin)
            return;
    }
    if (others.npaths < SHOWN_MAX)
        strcpy(others.paths[others.npaths++], end_of(path));
}

static void note_mappings(void)
{
    static char text[8192];
    size_t len = 0;
    ssize_t n;
    off_t at = 0;
    while (has_maps() && (n = pread(maps, text + len, sizeof text - 1 - len, at)) > 0) {
        char *line = text, *end;
        len += (size_t)n;
        at += n;
        text[len] = '\0';
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            note_mapping(line);
        }
        len -= (size_t)(line - text);
        memmove(text, line, len);
        if (len == sizeof text - 1) /* no path is that long */
            len = 0;
    }
}

static int count_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
    (void)size;
    *(unsigned long long *)adds = info->dlpi_adds;
    return 1;
}

static int note_copy(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (resolve_is_library(info->dlpi_name, resolve_stems[LIB_NCCL]) && others.ncopies < COPIES_MAX)
        others.copies[others.ncopies++] = begin_of(info);
    return 0;
}

static void refresh(void)
{
    unsigned long long adds = 0;
    loader_objects(count_adds, &adds);
    if (adds == others.adds)
        return;
    others.adds = adds;
    others.ncopies = others.npaths = 0;
    loader_objects(note_copy, NULL);
    note_mappings();
}

void coverage_gaps_refresh(void)
{
    int64_t now = clock_pace_ns();
    if (now - others.refreshed_ns < REFRESH_NS)
        return;
    others.refreshed_ns = now;
    refresh();
}

void coverage_gaps_reset(void)
{
    memset(&others, 0, sizeof others);
}

void coverage_gaps_put(struct out *o)
{
    struct gap_list l = {.out = o};
    refresh();
    put_RAW(o, "[");
    loader_objects(note_uncalled, &l);
    for (int i = 0; i < others.npaths; i++)
        show(&l, "namespace", others.paths[i]);
    put_RAW(o, "]");
}

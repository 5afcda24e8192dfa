/* SPDX-License-Identifier: MIT */
#include "library.h"

#include "loader_lock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct file_search {
    struct library *found;
    uintptr_t address;
};

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

static void put_hex(char *out, size_t size, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n && 2 * i + 3 <= size; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* Of the notes between p and end: that of the linker, NT_GNU_BUILD_ID. */
static void take_notes(struct library *l, const unsigned char *p, const unsigned char *end)
{
    while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)p;
        const unsigned char *name = p + sizeof *note;
        const size_t name_size = (note->n_namesz + 3u) & ~(size_t)3;
        const size_t text_size = (note->n_descsz + 3u) & ~(size_t)3;
        if (name_size > (size_t)(end - name) || text_size > (size_t)(end - name) - name_size)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            put_hex(l->build_id, sizeof l->build_id, name + name_size, note->n_descsz);
        p = name + name_size + text_size;
    }
}

static int take(struct dl_phdr_info *object, size_t size, void *arg)
{
    const struct file_search *s = arg;
    const size_t len = strlen(object->dlpi_name);
    (void)size;
    if (!holds(object, s->address))
        return 0;
    snprintf(s->found->path, sizeof s->found->path, "%s",
             object->dlpi_name + (len > LIBRARY_PATH_MAX ? len - LIBRARY_PATH_MAX : 0));
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const unsigned char *notes = (const void *)(object->dlpi_addr + part->p_vaddr);
        if (part->p_type == PT_NOTE && part->p_align <= 4)
            take_notes(s->found, notes, notes + part->p_filesz);
    }
    return 1;
}

void library_of(struct library *l, uintptr_t function)
{
    struct file_search s = {l, function};
    l->path[0] = l->build_id[0] = '\0';
    if (function != 0)
        loader_objects(take, &s);
}

/* SPDX-License-Identifier: MIT
 *
 * Cubins. A kernel is a function symbol that is marked as an entry; what it needs stands in
 * sections named after it and in .nv.info, a list of attributes of four bytes and a payload each.
 */
#include <elf.h>
#include <string.h>

#include "image.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
#define STO_ENTRY 0x10 /* of st_other */

#define INFO_WITH_BYTES 4 /* the form of an attribute: its 16 bits are a size */
#define INFO_MAX_THREADS 0x05
#define INFO_FRAME_BYTES 0x11
#define INFO_REGISTERS 0x2f

struct cubin {
    const char *data;
    size_t size;
    Elf64_Ehdr header;
    const char *names; /* of the sections */
    size_t names_bytes;
};

static bool within(size_t size, uint64_t at, uint64_t bytes)
{
    return at <= size && bytes <= size - at;
}

/* A string of a table, or NULL where it does not end in it. */
static const char *string_at(const char *table, size_t bytes, uint32_t at)
{
    return at < bytes && memchr(table + at, '\0', bytes - at) != NULL ? table + at : NULL;
}

/* The bytes of a section that is in the file, or NULL. */
static const char *content_of(const struct cubin *c, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOBITS || !within(c->size, s->sh_offset, s->sh_size))
        return NULL;
    return c->data + s->sh_offset;
}

/* Copied, as an image may lie at any address. A section that is not there is empty. */
static Elf64_Shdr section_at(const struct cubin *c, size_t index)
{
    Elf64_Shdr s = {.sh_type = SHT_NOBITS};
    if (index < c->header.e_shnum)
        memcpy(&s, c->data + c->header.e_shoff + index * sizeof s, sizeof s);
    return s;
}

static const char *name_of(const struct cubin *c, const Elf64_Shdr *s)
{
    const char *name = string_at(c->names, c->names_bytes, s->sh_name);
    return name != NULL ? name : "";
}

/* The section `prefix` of a kernel (NULL: of all). */
static Elf64_Shdr find_section(const struct cubin *c, const char *prefix, const char *kernel)
{
    size_t length = strlen(prefix), i = 0;
    for (; i < c->header.e_shnum; i++) {
        const Elf64_Shdr s = section_at(c, i);
        const char *name = name_of(c, &s);
        if (strncmp(name, prefix, length) == 0 &&
            strcmp(name + length, kernel != NULL ? kernel : "") == 0)
            break;
    }
    return section_at(c, i);
}

static CUresult open_cubin(struct cubin *c, const void *data, size_t size)
{
    Elf64_Shdr names;
    *c = (struct cubin){.data = data, .size = size};
    if (size < sizeof c->header)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&c->header, data, sizeof c->header);
    if (c->header.e_ident[EI_CLASS] != ELFCLASS64 || c->header.e_machine != EM_CUDA)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (c->header.e_shentsize != sizeof(Elf64_Shdr) ||
        !within(size, c->header.e_shoff, (uint64_t)c->header.e_shnum * sizeof(Elf64_Shdr)))
        return CUDA_ERROR_INVALID_IMAGE;
    names = section_at(c, c->header.e_shstrndx);
    c->names = content_of(c, &names);
    c->names_bytes = (size_t)names.sh_size;
    return c->names != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

/* ---- what a kernel needs ---- */

/* Calls visit() with each attribute of a .nv.info section. */
static void each_info(const struct cubin *c, Elf64_Shdr section, struct emu_kernel_facts *k,
                      uint32_t symbol,
                      void (*visit)(struct emu_kernel_facts *, uint32_t symbol, unsigned attribute,
                                    const uint32_t *words, size_t count))
{
    const char *data = content_of(c, &section);
    size_t at = 0, size = data != NULL ? (size_t)section.sh_size : 0;
    while (size - at >= 4) {
        const unsigned char *head = (const unsigned char *)data + at;
        size_t bytes = head[0] == INFO_WITH_BYTES ? head[2] | (size_t)head[3] << 8 : 0;
        uint32_t words[3] = {0};
        at += 4;
        if (bytes > size - at)
            return;
        memcpy(words, data + at, bytes < sizeof words ? bytes : sizeof words);
        visit(k, symbol, head[1], words, bytes / sizeof *words);
        at += bytes;
    }
}

static void info_of_all(struct emu_kernel_facts *k, uint32_t symbol, unsigned attribute,
                        const uint32_t *words, size_t count)
{
    if (count < 2 || words[0] != symbol)
        return;
    if (attribute == INFO_REGISTERS)
        k->registers = words[1];
    else if (attribute == INFO_FRAME_BYTES)
        k->local_bytes = words[1];
}

static void info_of_one(struct emu_kernel_facts *k, uint32_t symbol, unsigned attribute,
                        const uint32_t *words, size_t count)
{
    (void)symbol;
    if (attribute == INFO_MAX_THREADS && count == 3 && words[0] && words[1] && words[2])
        k->threads_max = words[0] * words[1] * words[2];
}

static unsigned bytes_of(const struct cubin *c, const char *prefix, const char *kernel)
{
    return (unsigned)find_section(c, prefix, kernel).sh_size;
}

static void add_kernel(struct image *image, const struct cubin *c, const char *name,
                       uint32_t symbol)
{
    struct emu_kernel_facts *k = image_add_kernel(image, name, strlen(name));
    k->version = c->header.e_flags >> 8 & 0xff;
    k->shared_bytes = bytes_of(c, ".nv.shared.", name);
    if (k->shared_bytes >= EMU_SHARED_RESERVED &&
        find_section(c, ".nv.shared.reserved.0", NULL).sh_name)
        k->shared_bytes -= EMU_SHARED_RESERVED; /* counted there, not by the driver */
    k->constant_bytes = bytes_of(c, ".nv.constant3", NULL);
    each_info(c, find_section(c, ".nv.info", NULL), k, symbol, info_of_all);
    each_info(c, find_section(c, ".nv.info.", name), k, symbol, info_of_one);
}

/* ---- symbols ---- */

/* Variables lie in sections of these names; those of a kernel's own have more after it. */
static bool is_memory(const char *section)
{
    return strcmp(section, ".nv.global") == 0 || strcmp(section, ".nv.global.init") == 0 ||
           strcmp(section, ".nv.constant3") == 0;
}

static void add_variable(struct image *image, const struct cubin *c, const char *name,
                         const Elf64_Sym *symbol)
{
    const Elf64_Shdr section = section_at(c, symbol->st_shndx);
    struct image_variable *v;
    const char *content;
    if (!is_memory(name_of(c, &section)) || !symbol->st_size ||
        !within((size_t)section.sh_size, symbol->st_value, symbol->st_size))
        return;
    content = content_of(c, &section);
    v = image_add_variable(image, name, strlen(name));
    v->bytes = (size_t)symbol->st_size;
    v->content = content != NULL ? content + symbol->st_value : NULL;
}

static CUresult read_symbols(struct image *image, const struct cubin *c, const Elf64_Shdr *table)
{
    const Elf64_Shdr strings = section_at(c, table->sh_link);
    const char *symbols = content_of(c, table), *names = content_of(c, &strings);
    if (symbols == NULL || names == NULL || table->sh_entsize != sizeof(Elf64_Sym))
        return CUDA_ERROR_INVALID_IMAGE;
    for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        const char *name;
        memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
        name = string_at(names, (size_t)strings.sh_size, symbol.st_name);
        if (name == NULL)
            return CUDA_ERROR_INVALID_IMAGE;
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & STO_ENTRY) && name[0])
            add_kernel(image, c, name, (uint32_t)i);
        else if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && name[0])
            add_variable(image, c, name, &symbol);
    }
    return CUDA_SUCCESS;
}

CUresult image_read_elf(struct image *image, const void *data, size_t size)
{
    struct cubin c;
    Elf64_Shdr table;
    CUresult result = open_cubin(&c, data, size);
    if (result)
        return result;
    table = find_section(&c, ".symtab", NULL);
    return read_symbols(image, &c, &table);
}

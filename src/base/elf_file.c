/* SPDX-License-Identifier: MIT */
#include "base/elf_file.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_PREFIX "GLIBC_"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

/* `count` items of `size` bytes at `offset`; NULL when they are not all there, or lie crookedly. */
static const void *items(const struct elf_file *f, uint64_t offset, uint64_t count, size_t size,
                         size_t align)
{
    if (offset > f->size || count > (f->size - offset) / size || offset % align != 0)
        return NULL;
    return f->data + offset;
}

#define AT(_f, _offset, _count, _type) items(_f, _offset, _count, sizeof(_type), _Alignof(_type))

static const Elf64_Ehdr *header(const struct elf_file *f)
{
    return (const Elf64_Ehdr *)f->data;
}

/* A text in a table of so many bytes; NULL when it runs out of it. */
static const char *text_in(const char *table, size_t size, uint64_t offset)
{
    if (table == NULL || offset >= size || memchr(table + offset, '\0', size - offset) == NULL)
        return NULL;
    return table + offset;
}

static const Elf64_Phdr *segments(const struct elf_file *f, size_t *count)
{
    const Elf64_Phdr *first = AT(f, header(f)->e_phoff, header(f)->e_phnum, Elf64_Phdr);
    *count = first != NULL && header(f)->e_phentsize == sizeof *first ? header(f)->e_phnum : 0;
    return first;
}

static const Elf64_Shdr *sections(const struct elf_file *f, size_t *count)
{
    const Elf64_Shdr *first = AT(f, header(f)->e_shoff, header(f)->e_shnum, Elf64_Shdr);
    *count = first != NULL && header(f)->e_shentsize == sizeof *first ? header(f)->e_shnum : 0;
    return first;
}

/* Where in the file an address of the program lies; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct elf_file *f, uint64_t address)
{
    size_t count;
    const Elf64_Phdr *s = segments(f, &count);
    for (size_t i = 0; i < count; i++) {
        if (s[i].p_type == PT_LOAD && address >= s[i].p_vaddr &&
            address - s[i].p_vaddr < s[i].p_filesz)
            return s[i].p_offset + (address - s[i].p_vaddr);
    }
    return UINT64_MAX;
}

/* The value of the first entry with this tag, or `none`. */
static uint64_t value_of(const struct elf_file *f, int64_t tag, uint64_t none)
{
    for (size_t i = 0; i < f->entry_count && f->entries[i].d_tag != DT_NULL; i++) {
        if (f->entries[i].d_tag == tag)
            return f->entries[i].d_un.d_val;
    }
    return none;
}

static const char *entry_text(const struct elf_file *f, int64_t tag)
{
    return text_in(f->strings, f->strings_size, value_of(f, tag, UINT64_MAX));
}

static void read_segments(struct elf_file *f)
{
    size_t count;
    const Elf64_Phdr *s = segments(f, &count);
    for (size_t i = 0; i < count; i++) {
        if (s[i].p_type == PT_DYNAMIC) {
            const Elf64_Phdr *segment = &s[i];
            uint64_t strings;
            f->entries =
                AT(f, segment->p_offset, segment->p_filesz / sizeof *f->entries, Elf64_Dyn);
            f->entry_count = f->entries != NULL ? segment->p_filesz / sizeof *f->entries : 0;
            f->dynamic = f->entry_count > 0;
            strings = offset_of(f, value_of(f, DT_STRTAB, UINT64_MAX));
            f->strings_size = value_of(f, DT_STRSZ, 0);
            if (strings < f->size && f->strings_size <= f->size - strings)
                f->strings = (const char *)f->data + strings;
            f->soname = entry_text(f, DT_SONAME);
            f->rpath = entry_text(f, DT_RPATH);
            f->runpath = entry_text(f, DT_RUNPATH);
        } else if (s[i].p_type == PT_INTERP && s[i].p_offset <= f->size &&
                   s[i].p_filesz <= f->size - s[i].p_offset) {
            f->interpreter = text_in((const char *)f->data + s[i].p_offset, s[i].p_filesz, 0);
        }
    }
}

int elf_file_open(struct elf_file *f, const char *path, struct err *e)
{
    const unsigned char *id;
    memset(f, 0, sizeof *f);
    /* f->data is NULL when the file cannot be mapped; errno says why, 0 when it is too short. */
    struct stat st;
    void *data;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    errno = fd < 0 ? errno : 0;
    if (fd >= 0) {
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            (size_t)st.st_size >= sizeof(Elf64_Ehdr)) {
            data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
            f->data = data != MAP_FAILED ? data : NULL;
            f->size = (size_t)st.st_size;
        }
        close(fd);
    }
    if (f->data == NULL && errno != 0)
        return err_set(e, ERR_INPUT, "cannot read '%s': %s", path, strerror(errno));
    id = f->data;
    if (id == NULL || memcmp(id, ELFMAG, SELFMAG) != 0) {
        elf_file_close(f);
        return err_set(e, ERR_INPUT, "'%s' is no ELF file", path);
    }
    f->bits = id[EI_CLASS] == ELFCLASS32 ? 32 : 64;
    f->foreign = id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != OWN_ORDER;
    f->machine =
        id[EI_DATA] == OWN_ORDER ? header(f)->e_machine : EM_NONE; /* at one place in both */
    if (!f->foreign)
        read_segments(f);
    return 0;
}

void elf_file_close(struct elf_file *f)
{
    if (f->data != NULL)
        munmap((void *)f->data, f->size);
    f->data = NULL;
}

const char *elf_file_needed(const struct elf_file *f, size_t i)
{
    for (size_t k = 0; k < f->entry_count && f->entries[k].d_tag != DT_NULL; k++) {
        if (f->entries[k].d_tag == DT_NEEDED && i-- == 0)
            return text_in(f->strings, f->strings_size, f->entries[k].d_un.d_val);
    }
    return NULL;
}

static bool table_defines(const struct elf_file *f, const Elf64_Shdr *table,
                          const Elf64_Shdr *names, const char *name)
{
    size_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *s = AT(f, table->sh_offset, count, Elf64_Sym);
    const char *strings =
        names->sh_offset <= f->size && names->sh_size <= f->size - names->sh_offset
            ? (const char *)f->data + names->sh_offset
            : NULL;
    for (size_t i = 0; s != NULL && i < count; i++) {
        const char *text;
        if (s[i].st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s[i].st_info) != STT_FUNC)
            continue;
        text = text_in(strings, names->sh_size, s[i].st_name);
        if (text != NULL && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

bool elf_file_defines(const struct elf_file *f, const char *name)
{
    size_t count = 0;
    const Elf64_Shdr *s = !f->foreign ? sections(f, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if ((s[i].sh_type == SHT_DYNSYM || s[i].sh_type == SHT_SYMTAB) && s[i].sh_link < count &&
            table_defines(f, &s[i], &s[s[i].sh_link], name))
            return true;
    }
    return false;
}

static unsigned newer(const struct elf_file *f, uint64_t name, unsigned newest)
{
    const char *text = text_in(f->strings, f->strings_size, name);
    unsigned major, minor, number = 0;
    if (text != NULL && sscanf(text, VERSION_PREFIX "%u.%u", &major, &minor) == 2)
        number = major * 1000 + minor; /* 2034 for GLIBC_2.34 */
    return number > newest ? number : newest;
}

/* The section of needed versions is a list of libraries, each with a list of versions. */
unsigned elf_file_glibc(const struct elf_file *f, const char *library)
{
    uint64_t libraries = value_of(f, DT_VERNEEDNUM, 0);
    uint64_t offset = offset_of(f, value_of(f, DT_VERNEED, UINT64_MAX));
    unsigned newest = 0;
    for (uint64_t i = 0; i < libraries; i++) {
        const Elf64_Verneed *need = AT(f, offset, 1, Elf64_Verneed);
        const char *of = need != NULL ? text_in(f->strings, f->strings_size, need->vn_file) : NULL;
        bool meant = of != NULL && (library == NULL || strcmp(of, library) == 0);
        uint64_t where = need != NULL ? offset + need->vn_aux : 0;
        for (unsigned k = 0; meant && k < need->vn_cnt; k++) {
            const Elf64_Vernaux *version = AT(f, where, 1, Elf64_Vernaux);
            if (version == NULL)
                break;
            newest = newer(f, version->vna_name, newest);
            where += version->vna_next;
        }
        if (need == NULL || need->vn_next == 0)
            break;
        offset += need->vn_next;
    }
    return newest;
}

/* The section of defined versions is a list of versions, each with its name and those it includes.
 */
unsigned elf_file_glibc_provided(const struct elf_file *f)
{
    uint64_t versions = value_of(f, DT_VERDEFNUM, 0);
    uint64_t offset = offset_of(f, value_of(f, DT_VERDEF, UINT64_MAX));
    unsigned newest = 0;
    for (uint64_t i = 0; i < versions; i++) {
        const Elf64_Verdef *version = AT(f, offset, 1, Elf64_Verdef);
        const Elf64_Verdaux *name =
            version != NULL ? AT(f, offset + version->vd_aux, 1, Elf64_Verdaux) : NULL;
        if (name == NULL)
            break;
        newest = newer(f, name->vda_name, newest);
        if (version->vd_next == 0)
            break;
        offset += version->vd_next;
    }
    return newest;
}

/* The section of dynamic symbols; NULL: none. *index: which section it is. */
static const Elf64_Shdr *dynsym_section(const struct elf_file *f, size_t *index)
{
    size_t count = 0;
    const Elf64_Shdr *s = f->data != NULL && !f->foreign ? sections(f, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (s[i].sh_type == SHT_DYNSYM) {
            *index = i;
            return &s[i];
        }
    }
    return NULL;
}

bool elf_file_symbol(const struct elf_file *f, size_t i, struct elf_symbol *s)
{
    size_t index;
    const Elf64_Shdr *section = dynsym_section(f, &index);
    const Elf64_Sym *first, *symbol;
    const char *name;
    if (section == NULL || i >= section->sh_size / sizeof *first ||
        (first = AT(f, section->sh_offset, i + 1, Elf64_Sym)) == NULL)
        return false;
    symbol = &first[i];
    name = text_in(f->strings, f->strings_size, symbol->st_name);
    s->name = name != NULL ? name : "";
    s->weak = ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
    s->defined = symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
                 (ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT ||
                  ELF64_ST_VISIBILITY(symbol->st_other) == STV_PROTECTED);
    return true;
}

bool elf_file_takes_address(const struct elf_file *f, size_t i)
{
    /* A slot of the PLT serves calls only. */
    const uint32_t plt_slot = f->machine == EM_AARCH64 ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT;
    size_t count = 0, index;
    const Elf64_Shdr *s, *symbols = dynsym_section(f, &index);
    s = symbols != NULL ? sections(f, &count) : NULL;
    for (size_t k = 0; k < count; k++) {
        size_t entries = s[k].sh_size / sizeof(Elf64_Rela);
        const Elf64_Rela *r = NULL;
        if (s[k].sh_type == SHT_RELA && s[k].sh_link == index)
            r = AT(f, s[k].sh_offset, entries, Elf64_Rela);
        for (size_t n = 0; r != NULL && n < entries; n++) {
            if (ELF64_R_SYM(r[n].r_info) == i && ELF64_R_TYPE(r[n].r_info) != plt_slot)
                return true;
        }
    }
    return false;
}

unsigned elf_file_own_machine(void)
{
    struct elf_file f;
    unsigned machine = elf_file_open(&f, "/proc/self/exe", NULL) == 0 ? f.machine : EM_NONE;
    elf_file_close(&f);
    return machine;
}

const char *elf_file_machine_name(unsigned machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_386:
        return "i386";
    case EM_AARCH64:
        return "aarch64";
    case EM_ARM:
        return "arm";
    case EM_PPC64:
        return "ppc64";
    case EM_RISCV:
        return "riscv";
    default:
        return "another processor";
    }
}

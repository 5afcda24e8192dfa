/* SPDX-License-Identifier: MIT
 *
 * Searches in the symbol tables of one loaded object, and its relocations (objects.h).
 */
#include "objects.h"

#include <stddef.h>
#include <stdint.h>

#define VERSION_HIDDEN 0x8000 /* in DT_VERSYM: not the default of its name */

int elf_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* The tables of a dynamic section that a search needs. */
struct symbol_tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions;  /* NULL: the object has none */
    const ElfW(Verneed) * needs;  /* versions that it asks of others; NULL: none */
    const ElfW(Verdef) * defines; /* versions that it has itself; NULL: none */
    const ElfW(Rela) * calls;     /* relocations of the procedure linkage table; NULL: none */
    size_t calls_bytes;
    const ElfW(Rela) * data;     /* all others; NULL: none */
    size_t data_bytes, relative; /* the first ones name no symbol */
    const ElfW(Addr) * got;      /* of the procedure linkage table */
    const uint32_t *gnu_hash;
    const uint32_t *hash;
};

/* glibc has relocated the addresses of the dynamic section where that is writable; elsewhere they
 * count from the load address. */
static const void *at(const struct link_map *object, const ElfW(Dyn) * d)
{
    ElfW(Addr) address = d->d_un.d_ptr;
    return (const void *)(address < object->l_addr ? address + object->l_addr : address);
}

static struct symbol_tables tables_of(const struct link_map *object)
{
    struct symbol_tables t = {0};
    for (const ElfW(Dyn) *d = object->l_ld; d != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t.symbols = at(object, d);
        else if (d->d_tag == DT_STRTAB)
            t.strings = at(object, d);
        else if (d->d_tag == DT_VERSYM)
            t.versions = at(object, d);
        else if (d->d_tag == DT_VERNEED)
            t.needs = at(object, d);
        else if (d->d_tag == DT_VERDEF)
            t.defines = at(object, d);
        else if (d->d_tag == DT_JMPREL)
            t.calls = at(object, d);
        else if (d->d_tag == DT_PLTRELSZ)
            t.calls_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_RELA)
            t.data = at(object, d);
        else if (d->d_tag == DT_RELASZ)
            t.data_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_RELACOUNT)
            t.relative = d->d_un.d_val;
        else if (d->d_tag == DT_PLTGOT)
            t.got = at(object, d);
        else if (d->d_tag == DT_GNU_HASH)
            t.gnu_hash = at(object, d);
        else if (d->d_tag == DT_HASH)
            t.hash = at(object, d);
    }
    return t;
}

static bool is_function(const struct symbol_tables *t, uint32_t index, const char *name)
{
    const ElfW(Sym) *s = &t->symbols[index];
    return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
           (t->versions == NULL || (t->versions[index] & VERSION_HIDDEN) == 0) &&
           elf_compare(t->strings + s->st_name, name) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name != '\0'; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* The table: four numbers, a Bloom filter of words, buckets, and one chain of hashes whose lowest
 * bit marks the end of a bucket. Index 0, the null symbol, stands for none. */
static uint32_t search_gnu_hash(const struct symbol_tables *t, const char *name)
{
    const uint32_t *header = t->gnu_hash, nbuckets = header[0], first = header[1];
    const uint32_t *buckets = header + 4 + header[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + nbuckets;
    uint32_t want = gnu_hash_of(name), index = nbuckets != 0 ? buckets[want % nbuckets] : 0;
    if (index < first)
        return 0;
    for (;; index++) {
        uint32_t hash = chain[index - first];
        if ((hash | 1) == (want | 1) && is_function(t, index, name))
            return index;
        if ((hash & 1) != 0)
            return 0;
    }
}

static uint32_t sysv_hash_of(const char *name)
{
    uint32_t h = 0;
    for (; *name != '\0'; name++) {
        h = (h << 4) + (unsigned char)*name;
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
    }
    return h;
}

static uint32_t search_hash(const struct symbol_tables *t, const char *name)
{
    const uint32_t *buckets = t->hash + 2, nbuckets = t->hash[0], *chain = buckets + nbuckets;
    uint32_t index = nbuckets != 0 ? buckets[sysv_hash_of(name) % nbuckets] : 0;
    while (index != 0 && !is_function(t, index, name))
        index = chain[index];
    return index;
}

/* The index of a function that the object defines; 0: none. */
static uint32_t definition(const struct symbol_tables *t, const char *name)
{
    if (t->symbols == NULL || t->strings == NULL)
        return 0;
    if (t->gnu_hash != NULL)
        return search_gnu_hash(t, name);
    return t->hash != NULL ? search_hash(t, name) : 0;
}

void *elf_function(const struct link_map *object, const char *name)
{
    struct symbol_tables t = tables_of(object);
    uint32_t index = definition(&t, name);
    return index != 0 ? (void *)(object->l_addr + t.symbols[index].st_value) : NULL;
}

const char *elf_version(const struct link_map *object, const char *name)
{
    struct symbol_tables t = tables_of(object);
    uint32_t index = definition(&t, name);
    const ElfW(Verdef) *v = index != 0 && t.versions != NULL ? t.defines : NULL;
    while (v != NULL && t.versions[index] > VER_NDX_GLOBAL) {
        const ElfW(Verdaux) *a = (const void *)((const char *)v + v->vd_aux);
        if (v->vd_ndx == t.versions[index])
            return t.strings + a->vda_name;
        v = v->vd_next != 0 ? (const void *)((const char *)v + v->vd_next) : NULL;
    }
    return NULL;
}

/* glibc puts its resolver into the third word of the table, for an object that is to use it. */
bool elf_is_bound_lazily(const struct link_map *object, const char *name)
{
    struct symbol_tables t = tables_of(object);
    if (t.symbols == NULL || t.strings == NULL || t.calls == NULL || t.got == NULL || t.got[2] == 0)
        return false;
    for (size_t i = 0; i < t.calls_bytes / sizeof *t.calls; i++) {
        const ElfW(Sym) *s = &t.symbols[ELF64_R_SYM(t.calls[i].r_info)];
        if (elf_compare(t.strings + s->st_name, name) == 0)
            return true;
    }
    return false;
}

bool elf_is_loader(const struct link_map *object)
{
    return elf_has_entry(object, DT_SONAME, "ld-linux-x86-64.so.2") ||
           elf_has_entry(object, DT_SONAME, "ld-linux-aarch64.so.1");
}

/* The symbol of that name that one of these relocations refers to; 0: none. An executable that is
 * not position-independent may give an undefined symbol an address of its own. */
static uint32_t find_reference(const struct symbol_tables *t, const ElfW(Rela) * relocations,
                               size_t count, const char *name)
{
    for (size_t i = 0; relocations != NULL && i < count; i++) {
        uint32_t index = (uint32_t)ELF64_R_SYM(relocations[i].r_info);
        if (index != 0 && t->symbols[index].st_shndx == SHN_UNDEF &&
            elf_compare(t->strings + t->symbols[index].st_name, name) == 0)
            return index;
    }
    return 0;
}

static const char *needed_version(const struct symbol_tables *t, uint32_t index)
{
    const ElfW(Half) wanted = t->versions != NULL ? t->versions[index] & ~VERSION_HIDDEN : 0;
    for (const ElfW(Verneed) *n = t->needs; n != NULL && wanted > VER_NDX_GLOBAL;) {
        const ElfW(Vernaux) *a = (const void *)((const char *)n + n->vn_aux);
        for (int i = 0; i < n->vn_cnt; i++, a = (const void *)((const char *)a + a->vna_next)) {
            if ((a->vna_other & ~VERSION_HIDDEN) == wanted)
                return t->strings + a->vna_name;
        }
        n = n->vn_next != 0 ? (const void *)((const char *)n + n->vn_next) : NULL;
    }
    return NULL;
}

bool elf_refers(const struct link_map *object, const char *name, const char **version)
{
    struct symbol_tables t = tables_of(object);
    size_t others = t.data_bytes / sizeof *t.data;
    uint32_t index = 0;
    *version = NULL;
    if (t.symbols == NULL || t.strings == NULL)
        return false;
    index = find_reference(&t, t.calls, t.calls_bytes / sizeof *t.calls, name);
    if (index == 0 && others > t.relative)
        index = find_reference(&t, t.data + t.relative, others - t.relative, name);
    *version = index != 0 ? needed_version(&t, index) : NULL;
    return index != 0;
}

bool elf_has_entry(const struct link_map *object, ElfW(Sxword) tag, const char *text)
{
    const char *strings = tables_of(object).strings;
    for (const ElfW(Dyn) *d = object->l_ld; strings != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == tag && elf_compare(strings + d->d_un.d_val, text) == 0)
            return true;
    }
    return false;
}

const char *elf_file(const struct link_map *object)
{
    const char *file = object->l_name;
    for (const char *p = file; *p != '\0'; p++) {
        if (*p == '/')
            file = p + 1;
    }
    return file;
}

const char *elf_needed(const struct link_map *object, const ElfW(Dyn) * *at)
{
    const char *strings = tables_of(object).strings;
    const ElfW(Dyn) *d = *at != NULL ? *at + 1 : object->l_ld;
    while (d->d_tag != DT_NULL && d->d_tag != DT_NEEDED)
        d++;
    *at = d;
    return d->d_tag == DT_NEEDED && strings != NULL ? strings + d->d_un.d_val : NULL;
}

const char *elf_soname(const struct link_map *object)
{
    const char *strings = tables_of(object).strings;
    for (const ElfW(Dyn) *d = object->l_ld; strings != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SONAME)
            return strings + d->d_un.d_val;
    }
    return NULL;
}

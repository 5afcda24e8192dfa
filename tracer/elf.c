/* SPDX-License-Identifier: MIT */
#include "elf.h"

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

/* What a search needs of a dynamic section. */
struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions; /* NULL: the object has none */
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

static struct tables tables_of(const struct link_map *object)
{
    struct tables t = {NULL, NULL, NULL, NULL, NULL};
    for (const ElfW(Dyn) *d = object->l_ld; d != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t.symbols = at(object, d);
        else if (d->d_tag == DT_STRTAB)
            t.strings = at(object, d);
        else if (d->d_tag == DT_VERSYM)
            t.versions = at(object, d);
        else if (d->d_tag == DT_GNU_HASH)
            t.gnu_hash = at(object, d);
        else if (d->d_tag == DT_HASH)
            t.hash = at(object, d);
    }
    return t;
}

static bool is_function(const struct tables *t, uint32_t index, const char *name)
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
static uint32_t search_gnu_hash(const struct tables *t, const char *name)
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

static uint32_t search_hash(const struct tables *t, const char *name)
{
    const uint32_t *buckets = t->hash + 2, nbuckets = t->hash[0], *chain = buckets + nbuckets;
    uint32_t index = nbuckets != 0 ? buckets[sysv_hash_of(name) % nbuckets] : 0;
    while (index != 0 && !is_function(t, index, name))
        index = chain[index];
    return index;
}

void *elf_function(const struct link_map *object, const char *name)
{
    struct tables t = tables_of(object);
    uint32_t index = 0;
    if (t.symbols == NULL || t.strings == NULL)
        return NULL;
    if (t.gnu_hash != NULL)
        index = search_gnu_hash(&t, name);
    else if (t.hash != NULL)
        index = search_hash(&t, name);
    return index != 0 ? (void *)(object->l_addr + t.symbols[index].st_value) : NULL;
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

bool elf_needs_soname(const struct link_map *user, const struct link_map *library)
{
    const char *strings = tables_of(user).strings;
    for (const ElfW(Dyn) *d = user->l_ld; strings != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_NEEDED && elf_has_entry(library, DT_SONAME, strings + d->d_un.d_val))
            return true;
    }
    return false;
}

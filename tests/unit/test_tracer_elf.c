/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/objects.h"
#include "../../tracer/loader.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static const struct link_map *libc_object(void)
{
    for (const struct link_map *object = own_object(); object != NULL; object = object->l_next) {
        if (elf_has_entry(object, DT_SONAME, "libc.so.6"))
            return object;
    }
    return NULL;
}

/* memcpy and the like are chosen at run time (STT_GNU_IFUNC), and memcpy has two versions. */
TEST(tracer_elf_finds_default_versions_of_functions)
{
    static const char *const names[] = {"qsort", "fopen", "posix_spawn", "pthread_create"};
    const struct link_map *libc = libc_object();
    if (libc == NULL)
        SKIP("the C library is not glibc");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(elf_function(libc, names[i]) == dlsym(dlopen("libc.so.6", RTLD_LAZY), names[i]));
    CHECK(elf_function(libc, "no_such_function") == NULL);
    CHECK(elf_function(libc, "environ") == NULL);
    CHECK(elf_function(libc, "memcpy") == NULL);
    CHECK(elf_function(libc, "") == NULL);
}

/* Tables made by hand: DT_HASH with one bucket, symbols 1 (a function) and 2 (undefined), to which
 * the second relocation refers. */
TEST(tracer_elf_reads_the_older_hash_table)
{
    static const char strings[] = "\0first\0second\0libx.so.1";
    static const ElfW(Sym) symbols[] = {
        {0},
        {.st_name = 1, .st_info = STB_GLOBAL << 4 | STT_FUNC, .st_shndx = 5, .st_value = 0x40},
        {.st_name = 7, .st_info = STB_GLOBAL << 4 | STT_FUNC, .st_shndx = SHN_UNDEF},
    };
    static const uint32_t hash[] = {1, 3, 2, 0, 0, 1};
    static const ElfW(Rela) data[] = {{.r_info = 0}, {.r_info = ELF64_R_INFO(2, 6)}};
    ElfW(Dyn) dynamic[] = {
        {.d_tag = DT_RELA, .d_un.d_ptr = (ElfW(Addr))data},
        {.d_tag = DT_RELASZ, .d_un.d_val = sizeof data},
        {.d_tag = DT_RELACOUNT, .d_un.d_val = 1},
        {.d_tag = DT_SYMTAB, .d_un.d_ptr = (ElfW(Addr))symbols},
        {.d_tag = DT_STRTAB, .d_un.d_ptr = (ElfW(Addr))strings},
        {.d_tag = DT_HASH, .d_un.d_ptr = (ElfW(Addr))hash},
        {.d_tag = DT_NEEDED, .d_un.d_val = 14},
        {.d_tag = DT_SONAME, .d_un.d_val = 14},
        {.d_tag = DT_NULL},
    };
    struct link_map object = {
        .l_addr = 0x1000, .l_name = (char *)"/lib/liby.so.1.2", .l_ld = dynamic};
    const char *version = "";
    const ElfW(Dyn) *at = NULL;
    CHECK((uintptr_t)elf_function(&object, "first") == 0x1040);
    CHECK(elf_function(&object, "second") == NULL);
    CHECK(elf_function(&object, "third") == NULL);
    CHECK(elf_has_entry(&object, DT_NEEDED, "libx.so.1"));
    CHECK(!elf_has_entry(&object, DT_NEEDED, "libx.so"));
    CHECK_STR(elf_needed(&object, &at), "libx.so.1");
    CHECK(elf_needed(&object, &at) == NULL);
    CHECK_STR(elf_soname(&object), "libx.so.1");
    CHECK_STR(elf_file(&object), "liby.so.1.2");
    CHECK(elf_refers(&object, "second", &version) && version == NULL);
    CHECK(!elf_refers(&object, "first", &version));
    object.l_ld = NULL;
    CHECK(elf_function(&object, "first") == NULL);
}

/* This program refers to the function in a version of glibc's, which defines it; no sanitizer does.
 */
TEST(tracer_elf_tells_versions)
{
    const struct link_map *libc = libc_object(), *own = own_object();
    const char *version = NULL, *has;
    if (libc == NULL || gnu_get_libc_version() == NULL)
        SKIP("the C library is not glibc");
    CHECK(elf_refers(own, "gnu_get_libc_version", &version));
    has = elf_version(libc, "gnu_get_libc_version");
    CHECK(version != NULL && strncmp(version, "GLIBC_2.", 8) == 0);
    CHECK(version != NULL && has != NULL && strcmp(version, has) == 0);
    CHECK(!elf_refers(libc, "gnu_get_libc_version", &version));
    CHECK(!elf_refers(own, "no_such_function", &version));
    CHECK(elf_version(libc, "no_such_function") == NULL);
    CHECK(elf_is_loader(object_of((const void *)getauxval(AT_BASE))) || getauxval(AT_BASE) == 0);
    CHECK(!elf_is_loader(libc) && !elf_is_loader(own));
}

TEST(tracer_elf_compares_as_strcmp)
{
    CHECK(elf_compare("abc", "abc") == 0);
    CHECK(elf_compare("ab", "abc") < 0);
    CHECK(elf_compare("abd", "abc") > 0);
    CHECK(elf_compare("\xff", "a") > 0);
    CHECK(elf_compare("", "") == 0);
}

/* No other library of this program defines dlsym(), so that of libc is the next one, too. */
TEST(tracer_real_is_what_dlsym_is)
{
    struct dl_functions real = libc_dlsyms(), next = next_dlsyms();
    void *found = dlsym(RTLD_DEFAULT, "dlsym");
    if (libc_object() == NULL)
        SKIP("the C library is not glibc");
    CHECK((uintptr_t)real.sym == (uintptr_t)found);
    CHECK((uintptr_t)next.sym == (uintptr_t)found);
    CHECK((uintptr_t)real.vsym == (uintptr_t)dlsym(RTLD_DEFAULT, "dlvsym"));
    CHECK(real_dlsym(RTLD_DEFAULT, "qsort") == dlsym(RTLD_DEFAULT, "qsort"));
}

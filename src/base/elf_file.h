/* SPDX-License-Identifier: MIT
 *
 * Reads an ELF file's own description without running anything: the libraries it needs, the folders
 * it searches for them, the symbols it defines. Only files of this machine's class and byte order
 * are read further than their header. Every offset is checked: a damaged file reads as one that
 * says nothing.
 *
 *     struct elf_file f;
 *     if (elf_file_open(&f, path, e) < 0) ...
 *     for (size_t i = 0; (name = elf_file_needed(&f, i)) != NULL; i++) ...
 *     elf_file_close(&f);
 */
#ifndef SPECTER_BASE_ELF_FILE_H
#define SPECTER_BASE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

struct elf_file {
    const unsigned char *data; /* mapped; texts that are returned point into it */
    size_t size;
    unsigned machine; /* EM_* */
    unsigned bits;    /* 32 or 64 */
    bool foreign;     /* of another class or byte order: the rest is empty */
    bool dynamic;     /* has a dynamic section: the loader has a say */
    const char *interpreter, *soname, *rpath, *runpath; /* NULL: none */
    const Elf64_Dyn *entries;                           /* the dynamic section */
    size_t entry_count;
    const char *strings; /* its string table */
    size_t strings_size;
};

/* 0, or -1 with e filled (ERR_INPUT): cannot be read, or is no ELF file. */
int elf_file_open(struct elf_file *f, const char *path, struct err *e);
void elf_file_close(struct elf_file *f);

/* The i-th library that it needs, NULL after the last. */
const char *elf_file_needed(const struct elf_file *f, size_t i);

/* Returns whether the file defines this function, for others or (where it is not stripped) for
 * itself. */
bool elf_file_defines(const struct elf_file *f, const char *name);

/* The newest version of glibc that it needs of this library (NULL: of any), and that it provides,
 * being one of glibc's, as 1000 * major + minor; 0: none. */
unsigned elf_file_glibc(const struct elf_file *f, const char *library);
unsigned elf_file_glibc_provided(const struct elf_file *f);

/* A symbol that the loader binds. */
struct elf_symbol {
    const char *name; /* "": none */
    bool defined;     /* here, for others too */
    bool weak;
};

/* The i-th dynamic symbol; false after the last. */
bool elf_file_symbol(const struct elf_file *f, size_t i, struct elf_symbol *s);

/* Returns whether the address of the i-th dynamic symbol is kept in data, where code can test or
 * pass it on. A mere call through the PLT keeps none. */
bool elf_file_takes_address(const struct elf_file *f, size_t i);

/* The processor that this very program is for: EM_*. */
unsigned elf_file_own_machine(void);

/* "x86-64" and the like. */
const char *elf_file_machine_name(unsigned machine);

#endif

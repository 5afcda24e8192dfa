/* SPDX-License-Identifier: MIT
 *
 * Symbols of objects that are loaded in this process, read from their own dynamic sections: for
 * what dlsym() cannot be asked, because we stand in its place. Nothing is allocated or locked, and
 * everything works before any constructor has run.
 */
#ifndef SPECTER_TRACER_ELF_H
#define SPECTER_TRACER_ELF_H

#include <link.h>
#include <stdbool.h>

/* The function that the object itself defines under this name, in its default version; NULL: none.
 */
void *elf_function(const struct link_map *object, const char *name);

/* The version of that function there, NULL: it has none. Belongs to the object. */
const char *elf_version(const struct link_map *object, const char *name);

/* Returns whether the object's reference to `name` is bound when it is first called: it has an
 * entry of the procedure linkage table, and the object was loaded so. */
bool elf_is_bound_lazily(const struct link_map *object, const char *name);

/* Returns whether the object is the dynamic loader itself. */
bool elf_is_loader(const struct link_map *object);

/* Returns whether the object refers to `name`, which it does not define. *version is the version
 * that the reference asks for, NULL for none, and belongs to the object. */
bool elf_refers(const struct link_map *object, const char *name, const char **version);

/* Returns whether the object's dynamic section has an entry `tag` (DT_NEEDED, DT_SONAME) of this
 * text. */
bool elf_has_entry(const struct link_map *object, ElfW(Sxword) tag, const char *text);

/* The names of the libraries that the object needs (DT_NEEDED), one after the other: NULL after
 * the last. *at is NULL for the first. */
const char *elf_needed(const struct link_map *object, const ElfW(Dyn) * *at);

/* The names that others may need the object by: that of its file, and its SONAME, NULL for none. A
 * library opened as libnccl.so.2.28.9 may be needed as libnccl.so.2. */
const char *elf_file(const struct link_map *object);
const char *elf_soname(const struct link_map *object);

/* strcmp(), which a sanitizer replaces, and which is not ready when that, just starting, calls
 * dlsym(). */
int elf_compare(const char *a, const char *b);

#endif

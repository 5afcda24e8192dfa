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

/* Has the object's dynamic section an entry `tag` (DT_NEEDED, DT_SONAME) of this text? */
bool elf_has_entry(const struct link_map *object, ElfW(Sxword) tag, const char *text);

/* Does `user` need by name what `library` says its SONAME is? */
bool elf_needs_soname(const struct link_map *user, const struct link_map *library);

/* strcmp(), which a sanitizer replaces, and which is not ready when that, just starting, calls
 * dlsym(). */
int elf_compare(const char *a, const char *b);

#endif

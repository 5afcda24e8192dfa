/* SPDX-License-Identifier: MIT
 *
 * SPECTER_DISABLE=1: the loader no longer finds any name of ours. What is bound from here on, by a
 * plugin that is loaded later, a first call through a lazy reference or dlsym(), is bound as if the
 * library were not there. Calls of what was bound at the start still come through our wrappers,
 * which hand them on and do nothing else.
 */
#include "config.h"
#include "loader.h"

#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* The filter of the GNU hash table: a search that finds its two bits clear looks no further. Of the
 * header's four numbers the third counts the filter's words. */
static void clear_filter(uint32_t *table)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    ElfW(Addr) *words = (ElfW(Addr) *)(void *)(table + 4);
    size_t bytes = table[2] * sizeof *words;
    uintptr_t begin = (uintptr_t)words & ~(page - 1);
    size_t len = (uintptr_t)words + bytes - begin;
    if (mprotect((void *)begin, len, PROT_READ | PROT_WRITE) < 0)
        return;
    memset(words, 0, bytes);
    mprotect((void *)begin, len, PROT_READ);
}

__attribute__((constructor)) static void hide_when_disabled(void)
{
    const struct link_map *own = own_object();
    int saved = errno;
    if (own != NULL && getauxval(AT_SECURE) == 0 && environ != NULL &&
        config_is_disabled((const char *const *)environ)) {
        for (const ElfW(Dyn) *d = own->l_ld; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_GNU_HASH)
                clear_filter((uint32_t *)d->d_un.d_ptr);
        }
    }
    errno = saved;
}

/* SPDX-License-Identifier: MIT
 *
 * Tells the traced process from its children, also those of a bare clone() (tracer.h).
 */
#include "tracer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK /* in headers since glibc 2.27 */
#define MADV_WIPEONFORK 18
#endif

static pid_t ours;
static _Atomic unsigned char *own_page; /* 1 here, 0 in every child; NULL: no such page */

void process_begin(pid_t pid)
{
    int saved = errno;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    ours = pid;
    if (own_page == NULL)
        own_page = memory_map(bytes);
    if (own_page != NULL && madvise((void *)own_page, bytes, MADV_WIPEONFORK) != 0) {
        memory_unmap((void *)own_page, bytes);
        own_page = NULL;
    }
    if (own_page != NULL)
        atomic_store(own_page, 1);
    errno = saved;
}

bool process_is_ours(void)
{
    return own_page != NULL ? atomic_load(own_page) == 1 : getpid() == ours;
}

pid_t process_id(void)
{
    return ours;
}

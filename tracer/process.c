/* SPDX-License-Identifier: MIT */
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
static _Atomic unsigned char *mark; /* 1 in our process; NULL: there is no such page */

void process_begin(pid_t pid)
{
    int saved = errno;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    ours = pid;
    if (mark == NULL)
        mark = memory_map(bytes);
    if (mark != NULL && madvise((void *)mark, bytes, MADV_WIPEONFORK) != 0) {
        memory_unmap((void *)mark, bytes);
        mark = NULL;
    }
    if (mark != NULL)
        atomic_store(mark, 1);
    errno = saved;
}

bool process_is_ours(void)
{
    return mark != NULL ? atomic_load(mark) == 1 : getpid() == ours;
}

pid_t process_id(void)
{
    return ours;
}

/* SPDX-License-Identifier: MIT
 *
 * dlclose() in front of the loader's: what was found out about a library and its callers does not
 * outlive them (answers.h).
 */
#include "dlsym.h"

#ifdef TRACER_HAS_DLSYM

#include "answers.h"
#include "loader_lock.h"
#include "real_dlsym.h"
#include "resolve.h"
#include "signal_block.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

/* Reads the number of objects unloaded since the start. */
static int note_unloaded(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_subs;
    return 1;
}

static unsigned long long unloaded(void)
{
    unsigned long long n = 0;
    loader_objects(note_unloaded, &n);
    return n;
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    int (*next)(void *) = next_dlclose();
    unsigned long long before = unloaded();
    int result = next != NULL ? next(handle) : -1, saved = errno;
    if (unloaded() != before) {
        struct signal_block blocked;
        answers_drop();
        signal_block_begin(&blocked);
        resolve_unloaded();
        signal_block_end(&blocked);
    }
    errno = saved;
    return result;
}

#endif

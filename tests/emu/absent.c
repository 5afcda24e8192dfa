/* SPDX-License-Identifier: MIT
 *
 * Functions that programs link and the stand-ins do not imitate. The loader finds them, as weak
 * symbols that a definition in the same library goes before; a call says so once on stderr and
 * answers that it is not supported.
 *
 * To imitate one: define it, and take its line out of the table.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "export.h"

#define CUBLAS_NOT_SUPPORTED 15

static int absent(const char *name, atomic_bool *said)
{
    if (!atomic_exchange(said, 1))
        fprintf(stderr, "emu: %s is not imitated\n", name);
    return CUBLAS_NOT_SUPPORTED;
}

#define ABSENT(_name)                              \
    EMU_API __attribute__((weak)) int _name(void); \
    int _name(void)                                \
    {                                              \
        static atomic_bool said;                   \
        return absent(#_name, &said);              \
    }
#include "absent_cublas.def"

/* SPDX-License-Identifier: MIT
 *
 * What a kernel does, told by its name: the class that `untraced` records count it in.
 */
#ifndef SPECTER_TRACER_KERNEL_CLASS_H
#define SPECTER_TRACER_KERNEL_CLASS_H

#include "specter/trace.h"

/* name: as the compiler made it, mangled or not; NULL: not known. */
enum specter_kernel_class kernel_class(const char *name);

#endif

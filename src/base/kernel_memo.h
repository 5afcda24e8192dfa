/* SPDX-License-Identifier: MIT
 *
 * The class of a kernel by its name, remembered: specter_kernel_class_of() looks for a hundred
 * words, and a recording has a few hundred names a million times. Each thread remembers for itself.
 */
#ifndef SPECTER_BASE_KERNEL_MEMO_H
#define SPECTER_BASE_KERNEL_MEMO_H

#include "specter/trace.h"

enum specter_kernel_class kernel_class(const char *name);

#endif

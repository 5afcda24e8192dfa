/* SPDX-License-Identifier: MIT
 *
 * Texts of a table's column in at most so many columns of a terminal, so that different texts stay
 * different: names of C++ kernels often differ in their last template argument only. A text that
 * is too long ends in "..."; where another one would then read the same, it keeps its end instead
 * of its middle, and where that does not do, either, it gets a number: "kernel<int, ... (2)".
 *
 *     const char *names[] = {...};
 *     cut_texts(&arena, names, whole, n, 42);
 */
#ifndef SPECTER_REPORT_CUT_TEXT_H
#define SPECTER_REPORT_CUT_TEXT_H

#include "base/arena.h"

#include <stddef.h>

/* Replaces each of `shown` by what is to be printed, safe for a terminal, in the arena. whole[i]
 * tells which texts are the same: shown[i] may be a shorter form of it. */
void cut_texts(struct arena *arena, const char **shown, const char *const *whole, size_t n,
               size_t max);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Copies and fills. Bytes move for the first copy_bytes or fill_bytes of the fabric; the time is
 * that of all.
 */
#ifndef EMU_COPY_H
#define EMU_COPY_H

#include "core.h"

CUresult copy_now(struct emu_thread *self, void *to, const void *from, size_t bytes);

/* From or to pageable memory it behaves as the real call: the source may be reused at once, the
 * target is complete on return. */
CUresult copy_async(struct emu_thread *self, void *to, const void *from, size_t bytes,
                    CUstream handle);
CUresult fill_async(struct emu_thread *self, void *pointer, int value, size_t bytes,
                    CUstream handle);

#endif

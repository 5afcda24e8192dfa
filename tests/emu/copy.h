/* SPDX-License-Identifier: MIT
 *
 * Copies and fills. Bytes move for the first copy_bytes or fill_bytes of the fabric; the time is
 * that of all.
 */
#ifndef EMU_COPY_H
#define EMU_COPY_H

#include "core.h"

EMU_API CUresult emu_copy_now(struct emu_thread *self, void *to, const void *from, size_t bytes);

/* From or to pageable memory it behaves as the real call: the source may be reused at once, the
 * target is complete on return. */
EMU_API CUresult emu_copy_async(struct emu_thread *self, void *to, const void *from, size_t bytes,
                                CUstream handle);
EMU_API CUresult emu_fill_async(struct emu_thread *self, void *pointer, int value, size_t bytes,
                                CUstream handle);

/* Of `height` rows of `width` bytes, each `*pitch` after the one before: time and bytes are those
 * of one copy or fill after another, rows that touch being one. */
EMU_API CUresult emu_copy_rows(struct emu_thread *self, void *to, size_t to_pitch, const void *from,
                               size_t from_pitch, size_t width, size_t height, CUstream handle);
EMU_API CUresult emu_fill_rows(struct emu_thread *self, void *pointer, size_t pitch, int value,
                               size_t width, size_t height, CUstream handle);

#endif

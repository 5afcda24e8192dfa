/* SPDX-License-Identifier: MIT
 *
 * Finds the kernels and variables in device code: a cubin (ELF), PTX, or a fat binary that holds
 * one of them uncompressed. Instructions are not read.
 *
 * An image comes as a pointer without a size, as the driver's calls take it; its own header says
 * how long it is, and nothing after that is read.
 */
#ifndef EMU_IMAGE_H
#define EMU_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel.h"

struct image_variable {
    char *name;
    size_t bytes;
    const void *content; /* in the image; NULL: zeros, or not told */
};

struct image {
    struct emu_kernel_facts *kernels; /* names: owned */
    struct image_variable *variables;
    size_t kernel_count, variable_count;
};

#define IMAGE_LARGEST ((size_t)1 << 31)

/* size: of the memory at `data`; IMAGE_LARGEST where it is not known. Fails with
 * CUDA_ERROR_INVALID_IMAGE, _INVALID_PTX or _NO_BINARY_FOR_GPU; *image is empty then. */
CUresult image_read(struct image *image, const void *data, size_t size);
void image_release(struct image *image);

/* For its parts (image_elf.c, image_ptx.c): the name is copied. */
struct emu_kernel_facts *image_add_kernel(struct image *image, const char *name, size_t length);
struct image_variable *image_add_variable(struct image *image, const char *name, size_t length);
CUresult image_read_elf(struct image *image, const void *data, size_t size);
CUresult image_read_ptx(struct image *image, const char *text, size_t size);

#endif

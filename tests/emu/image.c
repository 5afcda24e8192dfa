/* SPDX-License-Identifier: MIT
 *
 * See image.h: which form an image has, and fat binaries.
 */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u /* what nvcc points a program's registration at */
#define FAT_MAGIC 0xba55ed50u
#define FAT_IS_CODE 2                                    /* the entry's kind: a cubin; 1 is PTX */
#define FAT_PACKED (UINT64_C(0x2000) | UINT64_C(0x8000)) /* by LZ4, by zstd */

struct wrapper {
    uint32_t magic, version;
    const void *data, *more;
};

struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* after the header */
};

struct fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* after the header */
    uint32_t packed_bytes, unknown;
    uint16_t minor, major;
    uint32_t arch, name_at, name_bytes;
    uint64_t flags;
};

static char *copy_of(const char *text, size_t length)
{
    char *copy = emu_alloc(length + 1);
    memcpy(copy, text, length);
    return copy;
}

static void *grown(void *list, size_t count, size_t size)
{
    void *larger = realloc(list, (count + 1) * size);
    if (larger == NULL)
        emu_die("out of memory");
    memset((char *)larger + count * size, 0, size);
    return larger;
}

struct emu_kernel_facts *image_add_kernel(struct image *image, const char *name, size_t length)
{
    image->kernels = grown(image->kernels, image->kernel_count, sizeof *image->kernels);
    image->kernels[image->kernel_count].name = copy_of(name, length);
    return &image->kernels[image->kernel_count++];
}

struct image_variable *image_add_variable(struct image *image, const char *name, size_t length)
{
    image->variables = grown(image->variables, image->variable_count, sizeof *image->variables);
    image->variables[image->variable_count].name = copy_of(name, length);
    return &image->variables[image->variable_count++];
}

void image_release(struct image *image)
{
    for (size_t i = 0; i < image->kernel_count; i++)
        free((char *)(uintptr_t)image->kernels[i].name);
    for (size_t i = 0; i < image->variable_count; i++)
        free(image->variables[i].name);
    free(image->kernels);
    free(image->variables);
    *image = (struct image){0};
}

/* The first entry that can be read: code before PTX, as entries lie. */
static CUresult read_fat(struct image *image, const char *data, size_t size)
{
    struct fat_header header;
    size_t at;
    if (size < sizeof header)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&header, data, sizeof header);
    if (header.magic != FAT_MAGIC || header.header_bytes < sizeof header ||
        header.header_bytes > size || header.bytes > size - header.header_bytes)
        return CUDA_ERROR_INVALID_IMAGE;
    size = header.header_bytes + (size_t)header.bytes;
    for (at = header.header_bytes; size - at >= sizeof(struct fat_entry);) {
        struct fat_entry entry;
        const char *content;
        memcpy(&entry, data + at, sizeof entry);
        if (entry.header_bytes < sizeof entry || entry.header_bytes > size - at ||
            entry.bytes > size - at - entry.header_bytes)
            return CUDA_ERROR_INVALID_IMAGE;
        content = data + at + entry.header_bytes;
        if (!(entry.flags & FAT_PACKED))
            return entry.kind == FAT_IS_CODE ? image_read_elf(image, content, (size_t)entry.bytes)
                                             : image_read_ptx(image, content, (size_t)entry.bytes);
        at += entry.header_bytes + (size_t)entry.bytes;
    }
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult read_any(struct image *image, const void *data, size_t size)
{
    struct wrapper wrapper;
    uint32_t magic;
    if (size < sizeof magic)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&magic, data, sizeof magic);
    if (magic == FAT_MAGIC)
        return read_fat(image, data, size);
    if (memcmp(data, "\177ELF", 4) == 0)
        return image_read_elf(image, data, size);
    if (magic != WRAPPER_MAGIC)
        return image_read_ptx(image, data, strnlen(data, size));
    if (size < sizeof wrapper)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&wrapper, data, sizeof wrapper);
    return wrapper.data != NULL ? read_fat(image, wrapper.data, IMAGE_LARGEST)
                                : CUDA_ERROR_INVALID_IMAGE;
}

CUresult image_read(struct image *image, const void *data, size_t size)
{
    CUresult result;
    *image = (struct image){0};
    result = data != NULL ? read_any(image, data, size) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        image_release(image);
    return result;
}

/* SPDX-License-Identifier: MIT
 *
 * What devices are asked about.
 */
#include "core.h"
#include "fabric.h"
#include "kernel.h"

CUresult emu_attribute(CUdevice_attribute attribute, int device, int *value)
{
    const struct emu_fabric *f = emu_fabric();

    switch ((int)attribute) {
#define ATTRIBUTE(_name, _number, _value) \
    case _number:                         \
        *value = (int)(_value);           \
        return CUDA_SUCCESS;
#include "attribute.def"
    default:
        break;
    }
    if ((int)attribute < 1 || (int)attribute > EMU_ATTRIBUTE_LAST)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

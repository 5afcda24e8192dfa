/* SPDX-License-Identifier: MIT
 *
 * Attributes of devices (attribute.def).
 */
#include "core.h"
#include "fabric.h"
#include "kernel.h"

/* Where the real header is at hand, it checks the numbers. */
#ifdef __cuda_cuda_h__
#define ATTRIBUTE(_name, _number, _value) \
    _Static_assert((int)CU_DEVICE_ATTRIBUTE_##_name == _number, #_name);
#include "attribute.def"
#endif

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

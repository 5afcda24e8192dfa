/* SPDX-License-Identifier: MIT
 *
 * Arithmetic on the element types of NCCL and cuBLAS, numbered as NCCL numbers them.
 */
#ifndef EMU_NUMBER_H
#define EMU_NUMBER_H

#include <stddef.h>

enum number {
    NUMBER_I8,
    NUMBER_U8,
    NUMBER_I32,
    NUMBER_U32,
    NUMBER_I64,
    NUMBER_U64,
    NUMBER_F16,
    NUMBER_F32,
    NUMBER_F64,
    NUMBER_BF16,
    NUMBER_F8E4M3,
    NUMBER_F8E5M2,
    NUMBER_COUNT
};

/* In NCCL's order. */
enum number_op { NUMBER_SUM, NUMBER_PROD, NUMBER_MAX, NUMBER_MIN };

size_t number_size(enum number type); /* bytes; 0 for a value out of range */

double number_get(const void *array, size_t index, enum number type);

/* Rounded to nearest, ties to even; out of range becomes infinity, or the largest e4m3. */
void number_put(void *array, size_t index, enum number type, double value);

/* into[i] = into[i] op from[i] */
void number_combine(void *into, const void *from, size_t count, enum number type,
                    enum number_op op);

/* array[i] = array[i] * factor / divisor; integers divide as integers. */
void number_scale(void *array, size_t count, enum number type, double factor, unsigned divisor);

#endif

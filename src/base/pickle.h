/* SPDX-License-Identifier: MIT
 *
 * Python pickles that hold nothing but data (dictionaries, lists, tuples, texts, numbers, None), as
 * JSON text. Protocols 2 to 5 as Python writes them, and what torch::jit's pickler in C++ writes.
 *
 *     struct buf json = BUF_INIT;
 *     struct err e;
 *     switch (pickle_to_json(bytes, len, &json, &e)) { ... }
 *     buf_release(&json);
 *
 * A pickle is a program for a stack machine. Only the opcodes that make data are known here: there
 * is no class, no call and no import, so reading one runs nothing. Any other opcode (GLOBAL,
 * REDUCE, BUILD, INST, ...) refuses the whole pickle, with the opcode's name and the byte where it
 * stands.
 *
 * Bounded: values and memo by PICKLE_VALUES_MAX, depth by JSON_DEPTH_MAX, and the text, which
 * repeats what the pickle shares, by PICKLE_GROWTH times the pickle and by 1 GiB.
 *
 * The opcodes are those of Lib/pickletools.py in python/cpython; the C++ writer is
 * torch/csrc/jit/serialization/pickler.cpp in pytorch/pytorch.
 */
#ifndef SPECTER_BASE_PICKLE_H
#define SPECTER_BASE_PICKLE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define PICKLE_VALUES_MAX (1u << 24)
#define PICKLE_GROWTH 256

enum pickle_result {
    PICKLE_WHOLE,
    PICKLE_CUT,     /* it ends before its end: json holds what stands before, e says where */
    PICKLE_REFUSED, /* json holds nothing of use, e (ERR_INPUT) says why */
};

/* Returns whether these bytes begin like a pickle of protocol 2 to 5. */
bool pickle_begins(const char *bytes, size_t len);

/* Appends the value as JSON: tuples are lists, bytes are texts, keys that are whole numbers are
 * texts, numbers that JSON has not (infinite, not a number) are null. Messages begin with "byte N:
 * ". */
enum pickle_result pickle_to_json(const char *bytes, size_t len, struct buf *json, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Asks dlsym() in the name of another object (loader.h): finds a return instruction in that
 * object, through which the call comes back.
 */
#include "loader.h"

#include "dlsym.h"

#ifdef TRACER_HAS_DLSYM

#include <link.h>
#include <stddef.h>
#include <stdint.h>

void *as_caller_jump(void *handle, const char *name, const char *version, uintptr_t function,
                     const void *ret, size_t popped);

/* A `ret` instruction of the object, on AArch64 with the one before it that restores the frame. */
struct return_site {
    const void *at;
    size_t popped; /* bytes of the frame that it takes off the stack; AArch64 only, else 0 */
};

#ifdef __x86_64__

#define INSTRUCTION_BYTES 1

/* Any byte of code that is `ret` serves, also one within another instruction. */
static bool is_return_site(const unsigned char *at, struct return_site *found)
{
    *found = (struct return_site){at, 0};
    return *at == 0xc3;
}

/* Reads the shadow stack pointer. Without a shadow stack the instruction does nothing, and the
 * pointer stays 0. */
static bool has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer != 0;
}

#else /* __aarch64__ */

#define INSTRUCTION_BYTES 4
#define LOAD_FRAME UINT32_C(0xa8c07bfd) /* ldp x29, x30, [sp], #imm */
#define FRAME_BITS UINT32_C(0x003f8000) /* imm / 8, signed; a positive one here */
#define RETURN UINT32_C(0xd65f03c0)     /* ret */

static bool is_return_site(const unsigned char *at, struct return_site *found)
{
    const uint32_t *code = (const uint32_t *)(const void *)at;
    uint32_t imm = (code[0] & FRAME_BITS) >> 15;
    *found = (struct return_site){at, (size_t)imm * 8};
    return (code[0] & ~FRAME_BITS) == LOAD_FRAME && code[1] == RETURN && imm >= 2 && imm < 64 &&
           imm % 2 == 0;
}

/* Executes chkfeat, which clears bit 0 of x16 where the thread has a guarded control stack, and
 * does nothing on processors that have none. */
static bool has_shadow_stack(void)
{
    register uint64_t features __asm__("x16") = 1;
    __asm__ volatile("hint #40" : "+r"(features));
    return features == 0;
}

#endif

struct return_search {
    uintptr_t code;
    struct return_site found;
};

static bool search_range(uintptr_t from, uintptr_t to, struct return_site *found)
{
    for (uintptr_t at = from; at + 2 * INSTRUCTION_BYTES <= to; at += INSTRUCTION_BYTES) {
        if (is_return_site((const unsigned char *)at, found))
            return true;
    }
    return false;
}

/* Callback of dl_iterate_phdr(): looks for a return site in the segment that holds s->code, or in
 * the first object, which is the program, where that is 0. Starts at the code, in pages that are
 * surely mapped. Returns 1, which ends the walk, after the object was searched. */
static int search_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct return_search *s = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_filesz;
        uintptr_t code = s->code != 0 ? s->code & ~(uintptr_t)(INSTRUCTION_BYTES - 1) : begin;
        if (p->p_type != PT_LOAD || (p->p_flags & (PF_R | PF_X)) != (PF_R | PF_X) || code < begin ||
            code >= end)
            continue;
        if (!search_range(code, end, &s->found) && !search_range(begin, code, &s->found))
            s->found.at = NULL;
        return 1;
    }
    return s->code == 0;
}

bool as_caller_ask(const struct dl_functions *functions, const void *code, void *handle,
                   const char *name, const char *version, void **found)
{
    struct return_search s = {(uintptr_t)code, {NULL, 0}};
    uintptr_t function = version == NULL ? (uintptr_t)functions->sym : (uintptr_t)functions->vsym;
    if (function == 0 || has_shadow_stack())
        return false;
    loader_objects(search_object, &s);
    if (s.found.at == NULL)
        return false;
    *found = as_caller_jump(handle, name, version, function, s.found.at, s.found.popped);
    return true;
}

#else

bool as_caller_ask(const struct dl_functions *functions, const void *code, void *handle,
                   const char *name, const char *version, void **found)
{
    (void)functions, (void)code, (void)handle, (void)name, (void)version, (void)found;
    return false;
}

#endif

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

/* An instruction, or two, that return to an address on the stack. */
struct way_back {
    const void *at;
    size_t popped; /* bytes of the stack that it takes for a frame; AArch64 only */
};

#ifdef __x86_64__

#define INSTRUCTION_BYTES 1

/* Any byte of code that is `ret` serves, also one within another instruction. */
static bool is_way_back(const unsigned char *at, struct way_back *found)
{
    *found = (struct way_back){at, 0};
    return *at == 0xc3;
}

/* The shadow stack pointer; 0 where there is none, as the instruction then does nothing. */
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

static bool is_way_back(const unsigned char *at, struct way_back *found)
{
    const uint32_t *code = (const uint32_t *)(const void *)at;
    uint32_t imm = (code[0] & FRAME_BITS) >> 15;
    *found = (struct way_back){at, (size_t)imm * 8};
    return (code[0] & ~FRAME_BITS) == LOAD_FRAME && code[1] == RETURN && imm >= 2 && imm < 64 &&
           imm % 2 == 0;
}

/* chkfeat, a hint that does nothing on processors without guarded control stacks. */
static bool has_shadow_stack(void)
{
    register uint64_t features __asm__("x16") = 1;
    __asm__ volatile("hint #40" : "+r"(features));
    return features == 0;
}

#endif

struct frame_search {
    uintptr_t code;
    struct way_back found;
};

static bool search_range(uintptr_t from, uintptr_t to, struct way_back *found)
{
    for (uintptr_t at = from; at + 2 * INSTRUCTION_BYTES <= to; at += INSTRUCTION_BYTES) {
        if (is_way_back((const unsigned char *)at, found))
            return true;
    }
    return false;
}

/* Looks near the code first, in pages that are surely there. The program is the first object. */
static int search_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct frame_search *s = data;
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

bool as_caller_ask(const struct dl_functions *loader, const void *code, void *handle,
                   const char *name, const char *version, void **found)
{
    struct frame_search s = {(uintptr_t)code, {NULL, 0}};
    uintptr_t function = version == NULL ? (uintptr_t)loader->sym : (uintptr_t)loader->vsym;
    if (function == 0 || has_shadow_stack())
        return false;
    loader_objects(search_object, &s);
    if (s.found.at == NULL)
        return false;
    *found = as_caller_jump(handle, name, version, function, s.found.at, s.found.popped);
    return true;
}

#else

bool as_caller_ask(const struct dl_functions *loader, const void *code, void *handle,
                   const char *name, const char *version, void **found)
{
    (void)loader, (void)code, (void)handle, (void)name, (void)version, (void)found;
    return false;
}

#endif

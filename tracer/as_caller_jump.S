/* SPDX-License-Identifier: MIT
 *
 * void *as_caller_jump(void *handle, const char *name, const char *version, void *function,
 *                      const void *ret, size_t popped)
 *
 * Calls function(handle, name, version) with the return address `ret`, where an instruction returns
 * to the address on top of the stack (x86-64), or where two restore x29 and x30 from a frame of
 * `popped` bytes and return (AArch64). What lies there for them leads back here.
 */
#include "dlsym.h"

#ifdef TRACER_HAS_DLSYM

        .text
        .globl as_caller_jump
        .hidden as_caller_jump
        .type as_caller_jump, %function
        .balign 16
as_caller_jump:
        .cfi_startproc

#ifdef __x86_64__

        lea 1f(%rip), %rax
        push %rax
        .cfi_adjust_cfa_offset 8
        push %r8
        .cfi_adjust_cfa_offset 8
        jmp *%rcx
        .cfi_adjust_cfa_offset -16
1:      ret

#else /* __aarch64__ */

        stp x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        str x19, [sp, #16]
        .cfi_rel_offset x19, 16
        mov x29, sp
        mov x19, sp
        .cfi_def_cfa x19, 32
        sub sp, sp, x5
        adr x6, 1f
        stp x29, x6, [sp]
        mov x30, x4
        mov x16, x3
        br x16
1:      mov sp, x19
        ldr x19, [sp, #16]
        ldp x29, x30, [sp], #32
        .cfi_def_cfa sp, 0
        ret

#endif

        .cfi_endproc
        .size as_caller_jump, . - as_caller_jump

#endif

        .section .note.GNU-stack, "", %progbits

/* SPDX-License-Identifier: MIT
 *
 * The exported dlsym() and dlvsym(), and the entries that they hand out (dlsym.h). In assembly,
 * because all of them must leave by a jump, whatever a compiler is told, and with the registers
 * and the stack as they found them: a struct that a hooked function takes by value lies there.
 */
#include "dlsym.h"

#ifdef TRACER_HAS_DLSYM

#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

        .text

#ifdef __x86_64__

/* Scratch at a call: r10, r11, and rax, which only variadic functions look at. */
#define LANDING _CET_ENDBR

/* Three pushes also align the stack. */
.macro ASK name, version
        .globl \name
        .type \name, @function
        .balign 16
\name:
        .cfi_startproc
        LANDING
        push %rdi
        .cfi_adjust_cfa_offset 8
        push %rsi
        .cfi_adjust_cfa_offset 8
        push %rdx
        .cfi_adjust_cfa_offset 8
        .if \version == 0
        xor %edx, %edx
        .endif
        mov 24(%rsp), %rcx
        call dlsym_answer
        mov %rdx, %r11
        pop %rdx
        .cfi_adjust_cfa_offset -8
        pop %rsi
        .cfi_adjust_cfa_offset -8
        pop %rdi
        .cfi_adjust_cfa_offset -8
        test %r11, %r11
        jz 1f
        jmp *%r11
1:      ret
        .cfi_endproc
        .size \name, . - \name
.endm

.macro ENTRY index
        .balign DLSYM_ENTRY_BYTES
        LANDING
        mov $\index, %r11d
        jmp 1f
.endm

.macro TAIL fn
        .balign DLSYM_ENTRY_BYTES
1:      mov resolve_entered@gottpoff(%rip), %r10
        mov %r11d, %fs:(%r10)
        jmp wrapper_\fn
        .balign DLSYM_TAIL_BYTES
.endm

#else /* __aarch64__ */

/* Scratch at a call: x9 to x17. `hint #34` is `bti c`: a place that may be called by pointer. */
#define LANDING hint #34

.macro ASK name, version
        .globl \name
        .type \name, @function
        .balign 16
\name:
        .cfi_startproc
        LANDING
        stp x29, x30, [sp, #-48]!
        .cfi_adjust_cfa_offset 48
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov x29, sp
        stp x0, x1, [sp, #16]
        str x2, [sp, #32]
        .if \version == 0
        mov x2, xzr
        .endif
        mov x3, x30
        bl dlsym_answer
        mov x16, x1
        mov x17, x0
        ldp x0, x1, [sp, #16]
        ldr x2, [sp, #32]
        ldp x29, x30, [sp], #48
        .cfi_adjust_cfa_offset -48
        .cfi_restore x29
        .cfi_restore x30
        cbz x16, 1f
        br x16
1:      mov x0, x17
        ret
        .cfi_endproc
        .size \name, . - \name
.endm

.macro ENTRY index
        .balign DLSYM_ENTRY_BYTES
        LANDING
        mov w9, #\index
        b 1f
.endm

.macro TAIL fn
        .balign DLSYM_ENTRY_BYTES
1:      adrp x10, :gottprel:resolve_entered
        ldr x10, [x10, #:gottprel_lo12:resolve_entered]
        mrs x11, tpidr_el0
        str w9, [x11, x10]
        b wrapper_\fn
        .balign DLSYM_TAIL_BYTES
.endm

#endif

        ASK dlsym, 0
        ASK dlvsym, 1

/* As many entries as RESOLVE_ENTRIES. Their numbers count from 1 through all hooks. */
.macro ENTRIES fn
        .hidden wrapper_\fn
        .type enter_\fn, @function
        .balign DLSYM_ENTRY_BYTES
enter_\fn:
        .cfi_startproc
        ENTRY entry_number
        ENTRY entry_number + 1
        ENTRY entry_number + 2
        ENTRY entry_number + 3
        TAIL \fn
        .cfi_endproc
        .size enter_\fn, . - enter_\fn
        .set entry_number, entry_number + 4
.endm

        .hidden dlsym_answer
        .hidden resolve_entered
        .hidden dlsym_entries
        .globl dlsym_entries
        .balign DLSYM_TAIL_BYTES /* of which each hook's part is a multiple */
dlsym_entries:
        .set entry_number, 1
#define HOOK(_lib, _ret, _fn, _params, _args, _record) ENTRIES _fn
#include "hooks.def"

#endif

        .section .note.GNU-stack, "", %progbits

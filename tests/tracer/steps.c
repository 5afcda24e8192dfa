/* SPDX-License-Identifier: MIT
 *
 * The steps by functions that the linker found: as a program, or a library to be opened.
 */
#include "steps.h"

#include <stdio.h>

int steps_linked(float *memory);

int steps_linked(float *memory)
{
    const struct steps steps = {
#define X(_library, _function) ._function = _function,
        STEP_FUNCTIONS(X)
#undef X
    };
    return steps_run(&steps, memory);
}

#ifdef STEPS_PROGRAM
int main(void)
{
    static float memory[16384];
    int failed = steps_linked(memory);
    if (failed != 0)
        fprintf(stderr, "step %d failed\n", failed);
    return failed != 0;
}
#endif

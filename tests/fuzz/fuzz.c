/* SPDX-License-Identifier: MIT
 *
 * libFuzzer's entry: one binary a target, which FUZZ_TARGET names (fuzz.mk).
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t len);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t len)
{
    if (!fuzz_one(FUZZ_TARGET, bytes, len))
        abort();
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    return program_main(argc, argv);
}

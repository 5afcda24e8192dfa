/* SPDX-License-Identifier: MIT
 *
 * Which settings of the environment look like secrets: a trace is handed around, so the values of
 * these are not written to it. A setting is one by its name or by its value; secrets.def holds the
 * words. What is doubtful counts as a secret, but never what NCCL's own settings look like: paths,
 * lists of interfaces, adapters and devices, addresses with ports, numbers.
 */
#ifndef SPECTER_TRACER_SECRETS_H
#define SPECTER_TRACER_SECRETS_H

#include <stdbool.h>

#define SECRETS_REDACTED "<redacted>" /* stands for the value */

bool secrets_is_one(const char *name, const char *value);

#endif

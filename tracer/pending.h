/* SPDX-License-Identifier: MIT
 *
 * An error of the dynamic loader that waits for the program's dlerror().
 *
 * Whatever is asked of the loader, also with success, takes away what waits there of an earlier
 * call of the same thread. So what the tracer asks in a thread of the program stands between
 *
 *     pending_begin();
 *     ...
 *     pending_end();
 *
 * The text is put aside, and an error of our own, which the loader gives up as it does any other
 * when the program goes on to call it, marks that the text is still wanted: our dlerror() then
 * answers with it.
 */
#ifndef SPECTER_TRACER_PENDING_H
#define SPECTER_TRACER_PENDING_H

void pending_begin(void);
void pending_end(void);

/* The error that the program's dlerror() gives next, where the loader's own would name us. */
void pending_replace(const char *text);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Micro-batches over pipeline stages: each stage runs as many forward passes ahead as there are
 * stages after it, then one forward and one backward by turns (1F1B). Activations come from the
 * stage before and gradients from the one behind; what goes one way is sent with what comes the
 * other.
 *
 * All micro-batches use the same buffers: a backward pass needs what its own forward pass left, but
 * all values are equal, and no time depends on them.
 */
#include "train.h"

static int before(const struct job *j)
{
    return j->stage - 1;
}

static int behind(const struct job *j)
{
    return j->stage + 1 < j->o.pp ? j->stage + 1 : -1;
}

static void one_backward(struct job *j, int nth)
{
    j->accumulate = nth > 0;
    backward(j);
}

void pipeline(struct job *j)
{
    uint16_t *input = j->layers[0].input, *output = j->output, *grad = j->d_output;
    int ahead = j->o.pp - 1 - j->stage, done = 0;

    if (ahead > j->o.micro)
        ahead = j->o.micro;
    for (int i = 0; i < ahead; i++) {
        exchange(j, j->pp, NULL, -1, input, before(j));
        forward(j);
        exchange(j, j->pp, output, behind(j), NULL, -1);
    }
    if (ahead < j->o.micro)
        exchange(j, j->pp, NULL, -1, input, before(j));
    for (int i = ahead; i < j->o.micro; i++) {
        bool last = i + 1 == j->o.micro;

        forward(j);
        exchange(j, j->pp, output, behind(j), grad, behind(j));
        one_backward(j, done++);
        exchange(j, j->pp, grad, before(j), input, last ? -1 : before(j));
    }
    for (; done < j->o.micro; done++) {
        exchange(j, j->pp, NULL, -1, grad, behind(j));
        one_backward(j, done);
        exchange(j, j->pp, grad, before(j), NULL, -1);
    }
    reduce_gradients(j);
}

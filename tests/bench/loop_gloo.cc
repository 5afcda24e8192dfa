/* SPDX-License-Identifier: MIT
 *
 * AllReduce of gloo in a plain loop, for bench-collective: loop_gloo FOLDER PROCESSES ELEMENTS
 * ITERATIONS forks the processes, which leave their addresses in the folder, and prints the median
 * over the iterations, in microseconds, of the largest time over all processes.
 */
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

using Function = void (*)(void *, const void *, const void *, size_t);

template <typename T>
void reduce(const std::shared_ptr<gloo::Context> &context, T *in, T *out, size_t count,
            Function function)
{
    gloo::AllreduceOptions options(context);
    if (in != nullptr)
        options.setInput(in, count);
    options.setOutput(out, count);
    options.setReduceFunction(function);
    gloo::allreduce(options);
}

void run(const char *folder, int rank, int size, size_t elements, size_t iterations)
{
    gloo::transport::tcp::attr attr("127.0.0.1");
    auto device = gloo::transport::tcp::CreateDevice(attr);
    gloo::rendezvous::FileStore store(folder);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(store, device);
    std::vector<float> in(elements), out(elements);
    std::vector<double> us(iterations);
    auto sum = static_cast<Function>(&gloo::sum<float>);
    for (int i = 0; i < 3; i++)
        reduce(context, in.data(), out.data(), elements, sum);
    auto before = std::chrono::steady_clock::now();
    for (auto &one : us) {
        reduce(context, in.data(), out.data(), elements, sum);
        auto now = std::chrono::steady_clock::now();
        one = std::chrono::duration<double, std::micro>(now - before).count();
        before = now;
    }
    reduce<double>(context, nullptr, us.data(), iterations,
                   static_cast<Function>(&gloo::max<double>));
    std::sort(us.begin(), us.end());
    if (rank == 0)
        std::printf("%.3f\n", us[iterations / 2]);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    int size = std::atoi(argv[2]), bad = 0, status;
    for (int rank = 0; rank < size; rank++) {
        if (fork() == 0) {
            run(argv[1], rank, size, std::strtoul(argv[3], nullptr, 10),
                std::strtoul(argv[4], nullptr, 10));
            std::fflush(stdout);
            _exit(0);
        }
    }
    while (wait(&status) > 0)
        bad |= status != 0;
    return bad;
}

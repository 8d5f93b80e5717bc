/* CUDA C++ on a host's own cores, for tests: the items of a group are threads, and groups run one after the other. It says
   what a kernel computes, not what NVIDIA's compiler or a GPU makes of it. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef ITEMS_WAIT
#include <barrier>
#include <thread>
#include <vector>
#endif

#define __global__
#define __device__
#define __launch_bounds__(items)
#define __shared__ static

struct place {
    unsigned x;
};
static thread_local place threadIdx, blockIdx;
static place blockDim = {256}, gridDim = {3};
static inline float __int_as_float(int bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

using std::isnan;
using std::signbit;

/* Memory of the kernels' own. */
struct room {
    void *memory = nullptr;
    template <typename T> operator T *() const { return static_cast<T *>(memory); }
};

/* Runs an item of a group. */
template <typename Kernel> static void run(Kernel &kernel, unsigned group, unsigned number) {
    blockIdx.x = group;
    threadIdx.x = number;
    kernel();
}

/* Starts a kernel. Items that don't wait for each other run one by one, too. */
#ifdef ITEMS_WAIT
static std::barrier<> *all_items;

static inline void __syncthreads() { all_items->arrive_and_wait(); }

template <typename Kernel> static void launch(Kernel kernel) {
    for (unsigned group = 0; group < gridDim.x; group++) {
        std::barrier<> barrier(blockDim.x);
        all_items = &barrier;
        std::vector<std::thread> items;
        for (unsigned number = 0; number < blockDim.x; number++) {
            items.emplace_back([&, number] { run(kernel, group, number); });
        }
        for (std::thread &one : items) {
            one.join();
        }
    }
}
#else
template <typename Kernel> static void launch(Kernel kernel) {
    for (unsigned group = 0; group < gridDim.x; group++) {
        for (unsigned number = 0; number < blockDim.x; number++) {
            run(kernel, group, number);
        }
    }
}
#endif

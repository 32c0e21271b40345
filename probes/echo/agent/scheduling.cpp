#include "scheduling.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace plink {
namespace {

// The second number of /proc/PID/schedstat: nanoseconds on a run queue (kernel documentation,
// scheduler/sched-stats.rst). Kernels built without CONFIG_SCHED_INFO have no such file.
int64_t waited_ns(int file) {
    char text[96];
    ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    if (size <= 0) return -1;
    text[size] = '\0';
    char* second = nullptr;
    std::strtoll(text, &second, 10);
    char* end = nullptr;
    long long waited = std::strtoll(second, &end, 10);
    return end == second ? -1 : waited;
}

}  // namespace

Scheduler::Scheduler() : file_(::open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC)) {}

Times Scheduler::times() const {
    timespec run;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &run);
    return {now_ns(), int64_t{run.tv_sec} * kSecond + run.tv_nsec, waited_ns(file_)};
}

Processors::Processors() {
    CPU_ZERO(&any_);
    sched_getaffinity(0, sizeof any_, &any_);
}

void Processors::move_to(std::optional<uint32_t> processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (processor) CPU_SET(*processor % CPU_SETSIZE, &one);
    sched_setaffinity(0, sizeof one, processor ? &one : &any_);
}

}  // namespace plink

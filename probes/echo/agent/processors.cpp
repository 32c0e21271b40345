#include "processors.hpp"

namespace plink {

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

#include <cstring>
#include <initializer_list>

#include "steps.hpp"

#ifdef PLINK_HAS_X86_STEPS
#include <cpuid.h>
#endif

namespace plink::hub {

namespace baseline {
extern const Steps& table;
}
#ifdef PLINK_HAS_X86_STEPS
namespace avx2 {
extern const Steps& table;
}
namespace avx512 {
extern const Steps& table;
}

namespace {

bool has_avx2() {
    unsigned int eax, ebx, ecx, edx;
    const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
    return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace
#endif

const Steps* steps_of(const char* instruction_set) {
    if (std::strcmp(instruction_set, "baseline") == 0) return &baseline::table;
#ifdef PLINK_HAS_X86_STEPS
    if (std::strcmp(instruction_set, "avx2") == 0 && has_avx2()) return &avx2::table;
    if (std::strcmp(instruction_set, "avx512") == 0 && has_avx512()) return &avx512::table;
#endif
    return nullptr;
}

const Steps& steps() {
    static const Steps& fastest = [&]() -> const Steps& {
        for (const char* name : {"avx512", "avx2"}) {
            if (const Steps* found = steps_of(name)) return *found;
        }
        return baseline::table;
    }();
    return fastest;
}

}  // namespace plink::hub

#include "kernels.hpp"

#ifdef PLINK_HAS_X86_KERNELS
#include <cpuid.h>
#endif

namespace plink::engine {

namespace baseline {
extern const Kernels& table;
}
#ifdef PLINK_HAS_X86_KERNELS
namespace avx2 {
extern const Kernels& table;
}
namespace avx512 {
extern const Kernels& table;
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

const Kernels& kernels() {
#ifdef PLINK_HAS_X86_KERNELS
    static const Kernels& fastest =
        has_avx512() ? avx512::table : (has_avx2() ? avx2::table : baseline::table);
    return fastest;
#else
    return baseline::table;
#endif
}

}  // namespace plink::engine

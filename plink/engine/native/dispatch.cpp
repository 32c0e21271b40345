#include "kernels.hpp"

namespace plink::engine {

namespace baseline {
extern const Kernels& table;
}
#ifdef PLINK_HAS_AVX2_KERNELS
namespace avx2 {
extern const Kernels& table;
}
#endif

const Kernels& kernels() {
#ifdef PLINK_HAS_AVX2_KERNELS
    static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2) return avx2::table;
#endif
    return baseline::table;
}

}  // namespace plink::engine

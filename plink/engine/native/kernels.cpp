// Compiled once for every instruction set that is worth it, each time into its own namespace
// (PLINK_KERNELS). Uses no inline function of the standard library: the linker keeps one copy of
// those, and it might keep one that other processors cannot run.

#include "kernels.hpp"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace plink::engine::PLINK_KERNELS {

namespace {

using Byte = unsigned char;
using Bits16 = unsigned short;
using Bits32 = unsigned int;

template <typename T>
T load(const Byte* at, std::size_t i) {
    T value;
    __builtin_memcpy(&value, at + i * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void store(Byte* at, std::size_t i, T value) {
    __builtin_memcpy(at + i * sizeof(T), &value, sizeof(T));
}

template <typename To, typename From>
To cast_bits(From from) {
    To to;
    static_assert(sizeof(To) == sizeof(From));
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}

template <typename T>
struct Plain {
    using Stored = T;
    using Value = T;
    static constexpr bool kHasEights = false;
    static Value widened(Stored stored) { return stored; }
    static Stored narrowed(Value value) { return value; }
};

#ifdef __F16C__
using Eight = float __attribute__((vector_size(32)));
#endif

// Selects instead of branches, so that the compiler makes vectors of them.
struct Half {
    using Stored = Bits16;
    using Value = float;
#ifdef __F16C__
    // It makes no vectors of these by itself.
    static constexpr bool kHasEights = true;
    static Eight widened_eight(const Byte* at) {
        __m128i halves;
        __builtin_memcpy(&halves, at, sizeof(halves));
        return _mm256_cvtph_ps(halves);
    }
    static void store_eight(Byte* at, Eight values) {
        const __m128i halves = _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT);
        __builtin_memcpy(at, &halves, sizeof(halves));
    }
#else
    static constexpr bool kHasEights = false;
#endif
    static float widened(Bits16 half) {
        const Bits32 shifted = static_cast<Bits32>(half & 0x7fff) << 13;
        const Bits32 exponent = shifted & 0x0f800000U;
        const Bits32 normal = shifted + ((127U - 15U) << 23);
        const Bits32 special = normal + ((128U - 16U) << 23);
        const Bits32 small =
            cast_bits<Bits32>(cast_bits<float>(normal + (1U << 23)) - cast_bits<float>(113U << 23));
        Bits32 bits = exponent == 0 ? small : normal;
        bits = exponent == 0x0f800000U ? special : bits;
        return cast_bits<float>(bits | (static_cast<Bits32>(half & 0x8000) << 16));
    }
    // To the nearest, ties to even.
    static Bits16 narrowed(float value) {
        const Bits32 all = cast_bits<Bits32>(value);
        const Bits32 sign = all & 0x80000000U;
        const Bits32 bits = all ^ sign;
        constexpr Bits32 kSmall = 126U << 23;
        const Bits32 small =
            cast_bits<Bits32>(cast_bits<float>(bits) + cast_bits<float>(kSmall)) - kSmall;
        const Bits32 normal = (bits - (112U << 23) + 0xfffU + ((bits >> 13) & 1U)) >> 13;
        const Bits32 special = bits > 0x7f800000U ? 0x7e00U : 0x7c00U;
        Bits32 half = bits < (113U << 23) ? small : normal;
        half = bits >= (143U << 23) ? special : half;
        return static_cast<Bits16>(half | (sign >> 16));
    }
};

struct Brain {
    using Stored = Bits16;
    using Value = float;
    static constexpr bool kHasEights = false;
    static float widened(Bits16 brain) {
        return cast_bits<float>(static_cast<Bits32>(brain) << 16);
    }
    static Bits16 narrowed(float value) {
        const Bits32 bits = cast_bits<Bits32>(value);
        const Bits32 rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
        const Bits32 nan = (bits >> 16) | 0x40U;
        return static_cast<Bits16>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
    }
};

struct Sum {
    template <typename T>
    static T of(T a, T b) {
        return a + b;
    }
    // Unsigned, since an overflow of signed numbers is undefined.
    static int of(int a, int b) { return static_cast<int>(static_cast<Bits32>(a) + b); }
    static long of(long a, long b) {
        return static_cast<long>(static_cast<unsigned long>(a) + static_cast<unsigned long>(b));
    }
};

// What is no number stays: the order of the ranks must not matter.
struct Least {
    template <typename T>
    static T of(T a, T b) {
        const T less = b < a ? b : a;
        return a != a ? a : (b != b ? b : less);
    }
};

struct Greatest {
    template <typename T>
    static T of(T a, T b) {
        const T more = a < b ? b : a;
        return a != a ? a : (b != b ? b : more);
    }
};

struct And {
    template <typename T>
    static T of(T a, T b) {
        return a & b;
    }
};

template <typename Type, typename Operation>
void accumulate(void* into, const void* values, std::size_t items) {
    auto* __restrict target = static_cast<Byte*>(into);
    const auto* __restrict source = static_cast<const Byte*>(values);
    using Stored = typename Type::Stored;
    std::size_t i = 0;
    if constexpr (Type::kHasEights) {
        for (; i + 8 <= items; i += 8) {
            Byte* const at = target + i * sizeof(Stored);
            Type::store_eight(at, Operation::of(Type::widened_eight(at),
                                                Type::widened_eight(source + i * sizeof(Stored))));
        }
    }
    for (; i < items; ++i) {
        store<Stored>(target, i,
                      Type::narrowed(Operation::of(Type::widened(load<Stored>(target, i)),
                                                   Type::widened(load<Stored>(source, i)))));
    }
}

template <typename T>
void divide(void* values, std::size_t items, double divisor) {
    auto* __restrict target = static_cast<Byte*>(values);
    const T by = static_cast<T>(divisor);
    for (std::size_t i = 0; i < items; ++i) store<T>(target, i, load<T>(target, i) / by);
}

template <typename Type>
void widen(float* into, const void* values, std::size_t items) {
    const auto* __restrict source = static_cast<const Byte*>(values);
    float* __restrict target = into;
    std::size_t i = 0;
    if constexpr (Type::kHasEights) {
        for (; i + 8 <= items; i += 8) {
            const auto eight = Type::widened_eight(source + i * sizeof(Bits16));
            __builtin_memcpy(target + i, &eight, sizeof(eight));
        }
    }
    for (; i < items; ++i) target[i] = Type::widened(load<Bits16>(source, i));
}

template <typename Type>
void add_widened(float* into, const void* values, std::size_t items) {
    const auto* __restrict source = static_cast<const Byte*>(values);
    float* __restrict target = into;
    std::size_t i = 0;
    if constexpr (Type::kHasEights) {
        for (; i + 8 <= items; i += 8) {
            const auto eight = Type::widened_eight(source + i * sizeof(Bits16));
            decltype(Type::widened_eight(source)) sums;
            __builtin_memcpy(&sums, target + i, sizeof(sums));
            sums += eight;
            __builtin_memcpy(target + i, &sums, sizeof(sums));
        }
    }
    for (; i < items; ++i) target[i] += Type::widened(load<Bits16>(source, i));
}

template <typename Type>
void narrow(void* into, const float* values, std::size_t items, float divisor) {
    auto* __restrict target = static_cast<Byte*>(into);
    const float* __restrict source = values;
    std::size_t i = 0;
    if constexpr (Type::kHasEights) {
        for (; i + 8 <= items; i += 8) {
            decltype(Type::widened_eight(target)) eight;
            __builtin_memcpy(&eight, source + i, sizeof(eight));
            Type::store_eight(target + i * sizeof(Bits16), eight / divisor);
        }
    }
    for (; i < items; ++i) {
        store<Bits16>(target, i, Type::narrowed(source[i] / divisor));
    }
}

static_assert(sizeof(int) == 4 && sizeof(long) == 8);

#define PLINK_ORDERED(type)                                                \
    accumulate<type, Sum>, accumulate<type, Sum>, accumulate<type, Least>, \
        accumulate<type, Greatest>

constexpr Kernels kKernels = {
    {
        {PLINK_ORDERED(Plain<float>), nullptr},
        {PLINK_ORDERED(Plain<double>), nullptr},
        {PLINK_ORDERED(Half), nullptr},
        {PLINK_ORDERED(Brain), nullptr},
        {PLINK_ORDERED(Plain<int>), accumulate<Plain<int>, And>},
        {PLINK_ORDERED(Plain<long>), accumulate<Plain<long>, And>},
        {},
    },
    {divide<float>, divide<double>, nullptr, nullptr, divide<int>, divide<long>, nullptr},
    {nullptr, nullptr, widen<Half>, widen<Brain>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, add_widened<Half>, add_widened<Brain>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, narrow<Half>, narrow<Brain>, nullptr, nullptr, nullptr},
};

}  // namespace

extern const Kernels& table;
const Kernels& table = kKernels;

}  // namespace plink::engine::PLINK_KERNELS

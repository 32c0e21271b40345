#pragma once

#include <cstddef>
#include <cstdint>

namespace plink::engine {

enum class DType : std::uint8_t { kFloat32, kFloat64, kFloat16, kBfloat16, kInt32, kInt64 };
enum class Op : std::uint8_t { kSum, kMean, kMin, kMax, kAnd };

constexpr int kDTypes = 6;
constexpr int kOps = 5;

constexpr std::size_t item_bytes(DType dtype) {
    switch (dtype) {
        case DType::kFloat64:
        case DType::kInt64:
            return 8;
        case DType::kFloat16:
        case DType::kBfloat16:
            return 2;
        default:
            return 4;
    }
}

constexpr bool is_half(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

constexpr bool is_whole(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

}  // namespace plink::engine

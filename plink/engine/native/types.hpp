#pragma once

#include <cstddef>
#include <cstdint>

namespace plink::engine {

/// `kUint8` is for what is only moved.
enum class DType : std::uint8_t {
    kFloat32,
    kFloat64,
    kFloat16,
    kBfloat16,
    kInt32,
    kInt64,
    kUint8,
};
enum class Op : std::uint8_t { kSum, kMean, kMin, kMax, kAnd };

enum class Kind : std::uint8_t {
    kAllReduce,
    kReduceScatter,
    kAllGather,
    kBroadcast,
    kReduce,
    kGather,
    kScatter,
    kAllToAll,
};

constexpr int kDTypes = 7;
constexpr int kOps = 5;

constexpr std::size_t item_bytes(DType dtype) {
    switch (dtype) {
        case DType::kFloat64:
        case DType::kInt64:
            return 8;
        case DType::kFloat16:
        case DType::kBfloat16:
            return 2;
        case DType::kUint8:
            return 1;
        default:
            return 4;
    }
}

constexpr bool is_half(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

constexpr bool is_whole(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

constexpr bool can_reduce(DType dtype, Op op) {
    return dtype != DType::kUint8 && (op != Op::kAnd || is_whole(dtype));
}

/// Contributions are added on their way to a root.
constexpr bool reduces(Kind kind) {
    return kind == Kind::kAllReduce || kind == Kind::kReduceScatter || kind == Kind::kReduce;
}

/// What a root has goes on to all others.
constexpr bool broadcasts(Kind kind) {
    return kind == Kind::kAllReduce || kind == Kind::kAllGather || kind == Kind::kBroadcast;
}

/// Its buffer has a segment for each rank.
constexpr bool has_segments(Kind kind) {
    return kind == Kind::kReduceScatter || kind == Kind::kAllGather;
}

/// Pairs of ranks exchange messages, along no tree.
constexpr bool is_exchange(Kind kind) {
    return kind == Kind::kGather || kind == Kind::kScatter || kind == Kind::kAllToAll;
}

constexpr bool has_root(Kind kind) {
    return kind == Kind::kBroadcast || kind == Kind::kReduce || kind == Kind::kGather ||
           kind == Kind::kScatter;
}

}  // namespace plink::engine

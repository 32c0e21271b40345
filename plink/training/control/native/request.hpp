#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plink::control {

constexpr std::string_view kAllReduce = "all-reduce";
constexpr std::size_t kMostNameBytes = 4096;
constexpr std::size_t kMostTensors = 65'536;
constexpr std::size_t kMostDimensions = 64;
constexpr std::uint64_t kMostTensorBytes = INT64_MAX;

/// Types of items by their number on the wire, and the bytes of each.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> kDTypes = {{
    {"float32", 4},
    {"float64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
}};

/// Sizes from the wire may be anything; none that is too large may seem small.
constexpr std::uint64_t added(std::uint64_t one, std::uint64_t other) {
    return one + other < one ? UINT64_MAX : one + other;
}

/// One buffer of a collective.
struct Tensor {
    std::size_t dtype;  ///< in `kDTypes`
    std::vector<std::int64_t> shape;

    /// Of its memory; as many as there are numbers where it is more.
    std::uint64_t size_bytes() const;
    std::string described() const;
    bool operator==(const Tensor& other) const {
        return dtype == other.dtype && shape == other.shape;
    }
};

/// One collective by name, of one tensor or of a group that is handled as one. Ranks agree on a
/// name, and must agree on all else.
struct Request {
    std::string name;
    std::vector<Tensor> tensors;
    std::vector<std::string> members;  ///< of a group; none for a single tensor
    std::string kind;
    std::string op;
    std::string device;
    double prescale = 1.0;
    double postscale = 1.0;
    std::int64_t root = -1;

    struct Names {
        const std::string* first;
        std::size_t count;
        const std::string* begin() const { return first; }
        const std::string* end() const { return first + count; }
    };
    /// Of the tensors.
    Names names() const {
        return members.empty() ? Names{&name, 1} : Names{members.data(), members.size()};
    }
    std::uint64_t size_bytes() const;
    /// Whether it may share a buffer: a named all-reduce.
    bool is_fusible() const { return kind == kAllReduce && (name.empty() || name[0] != '#'); }
    /// All but the name, for people: what ranks may differ in.
    std::string described() const;
    bool operator==(const Request& other) const;
};

/// Requests never change, and many places keep one.
using RequestRef = std::shared_ptr<const Request>;

inline bool is_same(const RequestRef& one, const RequestRef& other) {
    return one == other || *one == *other;
}

/// As people write numbers: six digits, no zeros at the end.
std::string general(double value);

}  // namespace plink::control

#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace plink::hub {

constexpr std::size_t kAlignment = 64;

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

template <typename T>
using Array = std::unique_ptr<T[], Free>;

/// Zeros, aligned to a line of the cache.
template <typename T>
Array<T> make_array(std::size_t items) {
    const std::size_t bytes = (items * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    void* const memory = std::aligned_alloc(kAlignment, bytes > 0 ? bytes : kAlignment);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    return Array<T>(static_cast<T*>(memory));
}

}  // namespace plink::hub

#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "ring/matrix.hpp"

namespace plink::orders {

using Array =
    nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

/// Of what Python hands over, all that decides which memory is read is looked at here. What numbers
/// mean is checked in Python.
inline void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

inline ring::Matrix matrix(const Array& array) {
    require(array.shape(0) == array.shape(1), "the matrix is not square");
    return ring::Matrix(std::make_shared<Array>(array), array.data(),
                        static_cast<int>(array.shape(0)));
}

inline void require_size(std::size_t size, std::size_t expected) {
    require(size == expected, "the sizes do not fit each other");
}

/// Each is at least `low` and below `end`.
inline void require_indices(const std::vector<int>& values, int low, int end) {
    const auto fits = [low, end](int value) { return low <= value && value < end; };
    require(std::all_of(values.begin(), values.end(), fits), "an index does not fit");
}

inline void require_order(const std::vector<int>& order, int size) {
    require_size(order.size(), size);
    require_indices(order, 0, size);
    std::vector<char> seen(size, 0);
    for (const int host : order) require(!seen[host]++, "the order is not a permutation");
}

}  // namespace plink::orders

#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "ring/matrix.hpp"

namespace plink::orders {

using Array =
    nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

inline void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

inline ring::Matrix matrix(const Array& array) {
    require(array.shape(0) == array.shape(1), "the matrix is not square");
    return ring::Matrix(std::make_shared<Array>(array), array.data(),
                        static_cast<int>(array.shape(0)));
}

inline void require_order(const std::vector<int>& order, int size) {
    require(static_cast<int>(order.size()) == size, "the order does not fit the matrix");
    std::vector<char> seen(size, 0);
    for (const int host : order) {
        require(0 <= host && host < size && !seen[host], "the order is not a permutation");
        seen[host] = 1;
    }
}

}  // namespace plink::orders

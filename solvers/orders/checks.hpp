#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "annealing/rounds_form.hpp"
#include "ring/matrix.hpp"

namespace plink::orders {

using Array =
    nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

using EdgeArray = nanobind::ndarray<const std::int64_t, nanobind::shape<-1, 2>, nanobind::c_contig,
                                    nanobind::device::cpu>;

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

inline annealing::Rounds rounds(int ranks, const std::vector<EdgeArray>& arrays,
                                std::vector<double> weights) {
    require_size(weights.size(), arrays.size());
    std::vector<annealing::Rounds::Edges> found;
    for (const EdgeArray& array : arrays) {
        annealing::Rounds::Edges& edges = found.emplace_back();
        edges.reserve(array.shape(0));
        for (std::size_t edge = 0; edge < array.shape(0); ++edge) {
            edges.emplace_back(static_cast<int>(array(edge, 0)), static_cast<int>(array(edge, 1)));
            require_indices({edges.back().first, edges.back().second}, 0, ranks);
        }
    }
    return annealing::Rounds(ranks, std::move(found), std::move(weights));
}

inline void require_order(const std::vector<int>& order, int size) {
    require_size(order.size(), size);
    require_indices(order, 0, size);
    std::vector<char> seen(size, 0);
    for (const int host : order) require(!seen[host]++, "the order is not a permutation");
}

}  // namespace plink::orders

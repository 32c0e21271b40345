#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::ring {

/// The `count` nearest others of a city, nearest first, at most all; ties go by the place after it,
/// so that equally near cities share them out rather than all name the same few.
inline void append_nearest(const Matrix& distance, int city, int count, std::vector<int>& to) {
    const int n = distance.size();
    const double* row = distance.row(city);
    const std::size_t first = to.size();
    const auto most = static_cast<std::size_t>(std::min(count, n - 1));
    if (most == 0) return;
    double limit = std::numeric_limits<double>::infinity();
    const auto look = [&](int from, int end) {
        for (int other = from; other < end; ++other) {
            const double value = row[other];
            if (value >= limit) continue;
            if (to.size() - first < most) {
                to.push_back(other);
            } else {
                to.back() = other;
            }
            for (std::size_t i = to.size() - 1; i > first && value < row[to[i - 1]]; --i) {
                std::swap(to[i], to[i - 1]);
            }
            if (to.size() - first == most) limit = row[to.back()];
        }
    };
    look(city + 1, n);
    look(0, city);
}

/// By city; cities for which the time did not suffice have none.
inline std::vector<std::vector<int>> nearest_lists(const Matrix& distance, int count,
                                                   limits::Watch& watch) {
    std::vector<std::vector<int>> lists(distance.size());
    for (int city = 0; city < distance.size() && !watch.is_over(); ++city) {
        append_nearest(distance, city, count, lists[city]);
    }
    return lists;
}

/// The ring that goes to the nearest city left, each time; what is left when the time is over
/// follows as it is.
inline std::vector<int> nearest_neighbour_ring(const Matrix& distance, int first,
                                               limits::Watch& watch) {
    std::vector<int> ring{first};
    std::vector<int> left;
    for (int city = 0; city < distance.size(); ++city) {
        if (city != first) left.push_back(city);
    }
    while (!left.empty() && !watch.is_over()) {
        const double* row = distance.row(ring.back());
        std::size_t nearest = 0;
        for (std::size_t i = 1; i < left.size(); ++i) {
            if (row[left[i]] < row[left[nearest]]) nearest = i;
        }
        ring.push_back(left[nearest]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(nearest));
    }
    ring.insert(ring.end(), left.begin(), left.end());
    return ring;
}

}  // namespace plink::ring

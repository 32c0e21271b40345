#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plink::ring {

/// A symmetric distance matrix with a zero diagonal, row after row.
class Matrix {
  public:
    Matrix(const double* values, int size)
        : size_(size), values_(values, values + static_cast<std::size_t>(size) * size) {
        for (const double value : values_) greatest_ = std::max(greatest_, value);
    }

    int size() const { return size_; }
    const double* row(int i) const { return values_.data() + static_cast<std::size_t>(i) * size_; }
    double greatest() const { return greatest_; }
    double operator()(int i, int j) const { return row(i)[j]; }

  private:
    int size_;
    double greatest_ = 0.0;
    std::vector<double> values_;
};

/// Sum of hops around the ring, wrap-around included (Luo 2020, §5.2.1).
inline double ring_cost(const Matrix& distance, const std::vector<int>& order) {
    double cost = 0.0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        cost += distance(order[i], order[i + 1 < order.size() ? i + 1 : 0]);
    }
    return cost;
}

}  // namespace plink::ring

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace plink::ring {

/// A symmetric distance matrix with a zero diagonal, row after row. Copies share the values, which
/// nobody changes.
class Matrix {
  public:
    /// `owner` keeps the values alive.
    Matrix(std::shared_ptr<const void> owner, const double* values, int size)
        : size_(size), values_(values), shared_(std::make_shared<Shared>(std::move(owner))) {}

    int size() const { return size_; }
    const double* row(int i) const { return values_ + static_cast<std::size_t>(i) * size_; }
    /// Looked for when it is first asked.
    double greatest() const {
        std::call_once(shared_->is_looked_for, [this] {
            const std::size_t count = static_cast<std::size_t>(size_) * size_;
            shared_->greatest = std::max(0.0, *std::max_element(values_, values_ + count));
        });
        return shared_->greatest;
    }
    double operator()(int i, int j) const { return row(i)[j]; }

  private:
    struct Shared {
        explicit Shared(std::shared_ptr<const void> of) : owner(std::move(of)) {}

        std::shared_ptr<const void> owner;
        std::once_flag is_looked_for;
        double greatest = 0.0;
    };

    int size_;
    const double* values_;
    std::shared_ptr<Shared> shared_;
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

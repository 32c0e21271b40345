#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "annealing/tree.hpp"
#include "limits/deadline.hpp"
#include "orders/checks.hpp"
#include "orders/leaves.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::orders {

namespace {

using ring::Matrix;
using Orders = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Parents = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// How ranks fill the hosts of an order from its front.
struct Layout {
    std::vector<int> slots;
    int ranks;
};

/// The host of every rank of an order, and how many of its hosts take one.
int place(const std::int64_t* order, const Layout& layout, std::vector<int>& host_of) {
    const int hosts = static_cast<int>(layout.slots.size());
    host_of.clear();
    int used = 0;
    while (used < hosts && static_cast<int>(host_of.size()) < layout.ranks) {
        const std::int64_t host = order[used++];
        require(0 <= host && host < hosts, "an index does not fit");
        const int left = layout.ranks - static_cast<int>(host_of.size());
        const int taken = std::clamp(layout.slots[host], 0, left);
        host_of.insert(host_of.end(), taken, static_cast<int>(host));
    }
    require_size(host_of.size(), layout.ranks);
    return used;
}

/// What orders cost, until the time is over; those that come first, and `least` of them at least.
template <class Price>
std::vector<double> prices(Price&& price, const Array& distance, const Orders& orders,
                           Layout layout, int least, const limits::Deadline& deadline) {
    const Matrix values = matrix(distance);
    require_size(layout.slots.size(), values.size());
    require_size(orders.shape(1), values.size());
    const nb::gil_scoped_release release;
    limits::Watch watch(deadline);
    std::vector<double> found;
    std::vector<int> host_of;
    for (std::size_t row = 0; row < orders.shape(0); ++row) {
        if (watch.is_over() && static_cast<int>(row) >= least) break;
        const std::int64_t* order = orders.data() + row * orders.shape(1);
        const int used = place(order, layout, host_of);
        found.push_back(price(values, order, used, host_of));
    }
    return found;
}

std::vector<double> ring_prices(const Array& distance, const Orders& orders, std::vector<int> slots,
                                int ranks, int least, const limits::Deadline& deadline) {
    std::vector<int> hosts;
    const auto price = [&hosts](const Matrix& values, const std::int64_t* order, int used,
                                const std::vector<int>&) {
        hosts.assign(order, order + used);
        return ring::ring_cost(values, hosts);
    };
    return prices(price, distance, orders, {std::move(slots), ranks}, least, deadline);
}

/// Over all trees, the greatest sum of distances from the root to a leaf.
class Trees {
  public:
    explicit Trees(const std::vector<Parents>& trees) {
        for (const Parents& tree : trees) {
            trees_.emplace_back(std::vector<int>(tree.data(), tree.data() + tree.shape(0)));
            ranks_ = std::max(ranks_, static_cast<int>(tree.shape(0)));
        }
    }

    int ranks() const { return ranks_; }
    double cost(const Matrix& distance, const std::vector<int>& host_of) {
        return annealing::longest_path(trees_, distance, host_of, heights_);
    }

  private:
    std::vector<annealing::Tree> trees_;
    int ranks_ = 0;
    std::vector<double> heights_;
};

template <class Form>
void register_price(nb::class_<Form>& of) {
    of.def(
        "prices",
        [](Form& self, const Array& distance, const Orders& orders, std::vector<int> slots,
           int ranks, int least, const limits::Deadline& deadline) {
            require(self.ranks() <= ranks, "the form does not fit the ranks");
            const auto price = [&self](const Matrix& values, const std::int64_t*, int,
                                       const std::vector<int>& host_of) {
                return self.cost(values, host_of);
            };
            return prices(price, distance, orders, {std::move(slots), ranks}, least, deadline);
        },
        "distance"_a, "orders"_a, "slots"_a, "ranks"_a, "least"_a, "deadline"_a);
}

/// What keeps a matrix from being one of distances; nothing for one that is.
const char* fault_of(const Array& distance) {
    const std::size_t n = distance.shape(0);
    require(distance.shape(1) == n, "the matrix is not square");
    const double* values = distance.data();
    const nb::gil_scoped_release release;
    // In tiles, so that both halves are read along their rows.
    constexpr std::size_t kTile = 64;
    bool is_amount = true;
    bool is_symmetric = true;
    for (std::size_t top = 0; top < n; top += kTile) {
        for (std::size_t left = 0; left <= top; left += kTile) {
            for (std::size_t i = top; i < std::min(n, top + kTile); ++i) {
                for (std::size_t j = left; j < std::min(n, left + kTile); ++j) {
                    const double below = values[i * n + j];
                    const double above = values[j * n + i];
                    is_amount &= below >= 0.0 && below <= std::numeric_limits<double>::max() &&
                                 above >= 0.0 && above <= std::numeric_limits<double>::max();
                    is_symmetric &= below == above;
                }
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) is_symmetric &= values[i * n + i] == 0.0;
    if (!is_amount) return "distance holds values that are negative or not finite";
    if (!is_symmetric) return "distance is not symmetric with a zero diagonal";
    return nullptr;
}

}  // namespace

void register_orders(nb::module_& module) {
    module.def("fault_of", &fault_of, "distance"_a);

    module.def(
        "clustered_leaves",
        [](const Array& distance, const limits::Deadline& deadline) {
            const Matrix values = matrix(distance);
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            return dendrogram(values, Linkage::kAverage, watch).leaves;
        },
        "distance"_a, "deadline"_a);

    module.def(
        "merges",
        [](const Array& distance, bool is_single, const limits::Deadline& deadline) {
            const Matrix values = matrix(distance);
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            const Linkage linkage = is_single ? Linkage::kSingle : Linkage::kAverage;
            std::vector<std::tuple<int, int, double>> merges;
            for (const Merge& merge : dendrogram(values, linkage, watch).merges) {
                merges.emplace_back(merge.one, merge.other, merge.height);
            }
            return merges;
        },
        "distance"_a, "is_single"_a, "deadline"_a);

    module.def("ring_prices", &ring_prices, "distance"_a, "orders"_a, "slots"_a, "ranks"_a,
               "least"_a, "deadline"_a);

    nb::class_<annealing::Rounds> rounds_price(module, "RoundsPrice");
    rounds_price.def(
        "__init__",
        [](annealing::Rounds* self, int ranks, const std::vector<EdgeArray>& edges,
           std::vector<double> weights) {
            new (self) annealing::Rounds(rounds(ranks, edges, std::move(weights)));
        },
        "ranks"_a, "rounds"_a, "weights"_a);
    register_price(rounds_price);

    nb::class_<Trees> trees(module, "TreesPrice");
    trees.def(nb::init<const std::vector<Parents>&>(), "parents"_a);
    register_price(trees);
}

}  // namespace plink::orders

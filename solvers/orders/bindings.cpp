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

#include "limits/deadline.hpp"
#include "orders/checks.hpp"
#include "orders/leaves.hpp"
#include "orders/pricing.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::orders {

namespace {

using Orders = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Edges = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
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
        return ring_price(values, hosts.data(), used);
    };
    return prices(price, distance, orders, {std::move(slots), ranks}, least, deadline);
}

template <class Price>
void register_price(nb::class_<Price>& of) {
    of.def(
        "prices",
        [](Price& self, const Array& distance, const Orders& orders, std::vector<int> slots,
           int ranks, int least, const limits::Deadline& deadline) {
            require(self.ranks() <= ranks, "the form does not fit the ranks");
            const auto price = [&self](const Matrix& values, const std::int64_t*, int,
                                       const std::vector<int>& host_of) {
                return self(values, host_of);
            };
            return prices(price, distance, orders, {std::move(slots), ranks}, least, deadline);
        },
        "distance"_a, "orders"_a, "slots"_a, "ranks"_a, "least"_a, "deadline"_a);
}

RoundsPrice rounds_price(const std::vector<Edges>& rounds, const std::vector<double>& weights) {
    require_size(weights.size(), rounds.size());
    RoundsPrice price;
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        std::vector<RoundsPrice::Edge> edges;
        edges.reserve(rounds[round].shape(0));
        for (std::size_t i = 0; i < rounds[round].shape(0); ++i) {
            const int a = static_cast<int>(rounds[round](i, 0));
            const int b = static_cast<int>(rounds[round](i, 1));
            require_indices({a, b}, 0, std::numeric_limits<int>::max());
            edges.push_back({a, b});
        }
        price.add(std::move(edges), weights[round]);
    }
    return price;
}

TreesPrice trees_price(const std::vector<Parents>& trees) {
    TreesPrice price;
    for (const Parents& tree : trees) price.add({tree.data(), tree.data() + tree.shape(0)});
    return price;
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

    nb::class_<RoundsPrice> rounds(module, "RoundsPrice");
    rounds.def(
        "__init__",
        [](RoundsPrice* self, const std::vector<Edges>& edges, const std::vector<double>& weights) {
            new (self) RoundsPrice(rounds_price(edges, weights));
        },
        "rounds"_a, "weights"_a);
    register_price(rounds);

    nb::class_<TreesPrice> trees(module, "TreesPrice");
    trees.def(
        "__init__",
        [](TreesPrice* self, const std::vector<Parents>& parents) {
            new (self) TreesPrice(trees_price(parents));
        },
        "parents"_a);
    register_price(trees);
}

}  // namespace plink::orders

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>
#include <vector>

#include "bounds/budget_tree.hpp"
#include "limits/deadline.hpp"
#include "orders/checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::bounds {

using orders::require_indices;
using orders::require_size;

void register_bounds(nb::module_& module) {
    nb::class_<BudgetTree>(module, "BudgetTree")
        .def(
            "__init__",
            [](BudgetTree* self, const orders::Array& distance, BudgetTree::Shapes shapes,
               std::vector<double> shares, const std::vector<int>& group, double limit, int cells) {
                const ring::Matrix values = orders::matrix(distance);
                for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
                    for (const auto& [child, _] : shapes[shape]) {
                        require_indices({child}, 0, static_cast<int>(shape));
                    }
                }
                require_size(shares.size(), shapes.size());
                require_size(group.size(), values.size());
                const nb::gil_scoped_release release;
                new (self)
                    BudgetTree(values, std::move(shapes), std::move(shares), group, limit, cells);
            },
            "distance"_a, "shapes"_a, "shares"_a, "group"_a, "limit"_a, "cells"_a)
        .def(
            "cheapest",
            [](BudgetTree& self, std::vector<float> leaf, std::vector<float> inner, double way,
               const limits::Deadline& deadline) {
                const BudgetTree::Prices prices{std::move(leaf), std::move(inner), way};
                require_size(prices.leaf.size(), self.hosts());
                require_size(prices.inner.size(), self.hosts());
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                return self.cheapest(prices, watch);
            },
            "leaf"_a, "inner"_a, "way"_a, "deadline"_a)
        .def(
            "uses",
            [](const BudgetTree& self, int root) {
                require_indices({root}, 0, self.hosts());
                BudgetTree::Uses uses = self.uses(root);
                return std::make_tuple(std::move(uses.leaf), std::move(uses.inner), uses.way);
            },
            "root"_a);
}

}  // namespace plink::bounds

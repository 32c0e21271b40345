#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

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
               const std::vector<int>& group, double limit, int cells) {
                const ring::Matrix values = orders::matrix(distance);
                for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
                    for (const auto& [child, _] : shapes[shape]) {
                        require_indices({child}, 0, static_cast<int>(shape));
                    }
                }
                require_size(group.size(), values.size());
                const nb::gil_scoped_release release;
                new (self) BudgetTree(values, std::move(shapes), group, limit, cells);
            },
            "distance"_a, "shapes"_a, "group"_a, "limit"_a, "cells"_a)
        .def(
            "cheapest",
            [](BudgetTree& self, const std::vector<float>& prices,
               const limits::Deadline& deadline) {
                require_size(prices.size(), self.hosts());
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                return self.cheapest(prices, watch);
            },
            "prices"_a, "deadline"_a)
        .def(
            "uses",
            [](const BudgetTree& self, int root) {
                require_indices({root}, 0, self.hosts());
                return self.uses(root);
            },
            "root"_a);
}

}  // namespace plink::bounds

#include "bounds/bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <utility>
#include <vector>

#include "bounds/budget_tree.hpp"
#include "limits/deadline.hpp"
#include "orders/checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::bounds {

namespace {

using orders::require;

constexpr int kMostCells = 4096;

void require_shapes(const BudgetTree::Shapes& shapes) {
    require(!shapes.empty(), "there are no subtrees");
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
        for (const auto& [child, count] : shapes[shape]) {
            require(0 <= child && child < static_cast<int>(shape),
                    "a child comes after its parent");
            require(count >= 1, "a subtree occurs less than once");
        }
    }
}

void require_prices(const BudgetTree& tree, const std::vector<float>& prices) {
    require(static_cast<int>(prices.size()) == tree.hosts(), "the prices do not fit the hosts");
    for (const float price : prices) {
        require(
            price == std::trunc(price) && std::abs(price) * tree.ranks() <= BudgetTree::kMostPaid,
            "a price is no whole number, or too great");
    }
}

}  // namespace

void register_bounds(nb::module_& module) {
    nb::class_<BudgetTree>(module, "BudgetTree")
        .def(
            "__init__",
            [](BudgetTree* self, const orders::Array& distance, BudgetTree::Shapes shapes,
               double limit, int cells) {
                const ring::Matrix values = orders::matrix(distance);
                require_shapes(shapes);
                require(std::isfinite(limit) && limit > 0.0, "the limit is not above 0");
                require(1 <= cells && cells <= kMostCells, "the number of cells is out of range");
                const nb::gil_scoped_release release;
                new (self) BudgetTree(values, std::move(shapes), limit, cells);
            },
            "distance"_a, "shapes"_a, "limit"_a, "cells"_a)
        .def(
            "cheapest",
            [](BudgetTree& self, const std::vector<float>& prices,
               const limits::Deadline& deadline) {
                require_prices(self, prices);
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                return self.cheapest(prices, watch);
            },
            "prices"_a, "deadline"_a)
        .def(
            "uses",
            [](const BudgetTree& self, int root) {
                require(0 <= root && root < self.hosts(), "there is no such host");
                return self.uses(root);
            },
            "root"_a);
}

}  // namespace plink::bounds

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <tuple>
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

void require_prices(const BudgetTree& tree, const BudgetTree::Prices& prices) {
    for (const auto* of_hosts : {&prices.leaf, &prices.inner}) {
        require(static_cast<int>(of_hosts->size()) == tree.hosts(),
                "the prices do not fit the hosts");
    }
    require(tree.is_exact(prices), "a price is no whole number, or too great");
}

void require_groups(const ring::Matrix& distance, const std::vector<int>& group) {
    require(static_cast<int>(group.size()) == distance.size(), "the groups do not fit the hosts");
}

}  // namespace

void register_bounds(nb::module_& module) {
    nb::class_<BudgetTree>(module, "BudgetTree")
        .def(
            "__init__",
            [](BudgetTree* self, const orders::Array& distance, BudgetTree::Shapes shapes,
               std::vector<double> shares, const std::vector<int>& group, double limit, int cells) {
                const ring::Matrix values = orders::matrix(distance);
                require_shapes(shapes);
                require(shares.size() == shapes.size(), "the shares do not fit the subtrees");
                require_groups(values, group);
                require(std::isfinite(limit) && limit > 0.0, "the limit is not above 0");
                require(1 <= cells && cells <= kMostCells, "the number of cells is out of range");
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
                require_prices(self, prices);
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                return self.cheapest(prices, watch);
            },
            "leaf"_a, "inner"_a, "way"_a, "deadline"_a)
        .def(
            "uses",
            [](const BudgetTree& self, int root) {
                require(0 <= root && root < self.hosts(), "there is no such host");
                BudgetTree::Uses uses = self.uses(root);
                return std::make_tuple(std::move(uses.leaf), std::move(uses.inner), uses.way);
            },
            "root"_a);
}

}  // namespace plink::bounds

#include "trees/bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "orders/checks.hpp"
#include "trees/annealing.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::trees {

namespace {

using orders::require;

std::vector<Tree> trees(int ranks, const std::vector<std::vector<int>>& parents) {
    require(ranks >= 3, "too few ranks");
    require(!parents.empty(), "there are no trees");
    std::vector<Tree> trees;
    for (const std::vector<int>& one : parents) {
        require(static_cast<int>(one.size()) == ranks, "the parents do not fit the matrix");
        const auto is_rank = [ranks](int rank) { return -2 <= rank && rank < ranks; };
        require(std::all_of(one.begin(), one.end(), is_rank), "a parent is no rank");
        require(std::count(one.begin(), one.end(), -1) == 1, "a tree has not one root");
        trees.emplace_back(one);
        const auto idle = std::count(one.begin(), one.end(), -2);
        require(static_cast<int>(trees.back().from_root().size() + idle) == ranks,
                "the parents go in a circle");
    }
    return trees;
}

}  // namespace

void register_trees(nb::module_& module) {
    nb::class_<Annealing>(module, "TreesAnnealing")
        .def(
            "__init__",
            [](Annealing* self, const orders::Array& distance,
               const std::vector<std::vector<int>>& parents, std::vector<int> order,
               std::uint64_t seed) {
                Matrix values = orders::matrix(distance);
                orders::require_order(order, values.size());
                std::vector<Tree> checked = trees(values.size(), parents);
                const nb::gil_scoped_release release;
                new (self) Annealing(std::move(values), std::move(checked), std::move(order), seed);
            },
            "distance"_a, "parents"_a, "order"_a, "seed"_a)
        .def(
            "restart",
            [](Annealing& self, const std::vector<int>& order) {
                orders::require_order(order, static_cast<int>(self.current().size()));
                self.restart(order);
            },
            "order"_a)
        .def(
            "run",
            [](Annealing& self, long moves, double temperature) {
                require(temperature > 0.0, "the temperature must be above 0");
                const nb::gil_scoped_release release;
                self.run(moves, temperature);
            },
            "moves"_a, "temperature"_a)
        .def_prop_ro("best", &Annealing::best)
        .def_prop_ro("best_cost", &Annealing::best_cost)
        .def_prop_ro("current", &Annealing::current)
        .def_prop_ro("current_cost", &Annealing::current_cost);
}

}  // namespace plink::trees

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/local_rounds_cost.hpp"
#include "annealing/rounds_cost.hpp"
#include "annealing/trees_cost.hpp"
#include "limits/deadline.hpp"
#include "orders/checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::annealing {

namespace {

using orders::require;
using orders::require_size;

using orders::EdgeArray;

RoundsForm make_rounds(int ranks, const std::vector<EdgeArray>& arrays,
                       std::vector<double> weights) {
    RoundsForm form(orders::rounds(ranks, arrays, std::move(weights)));
    for (int round = 0; round < form.size(); ++round) {
        require(!form.edges(round).empty(), "a round has no edges");
    }
    require(form.size() > 0, "there are no rounds");
    return form;
}

std::vector<Tree> make_trees(int ranks, const std::vector<std::vector<int>>& parents) {
    std::vector<Tree> trees;
    for (const std::vector<int>& one : parents) {
        require_size(one.size(), ranks);
        trees.emplace_back(one);
    }
    require(!trees.empty(), "there are no trees");
    return trees;
}

/// All but the constructor, which differs by what the cost is made of.
template <class Cost>
nb::class_<Annealing<Cost>> register_class(nb::module_& module, const char* name) {
    using Self = Annealing<Cost>;
    return nb::class_<Self>(module, name)
        .def(
            "restart",
            [](Self& self, const std::vector<int>& order) {
                orders::require_order(order, static_cast<int>(self.current().size()));
                self.restart(order);
            },
            "order"_a)
        .def(
            "run",
            [](Self& self, long moves, double softness, double temperature,
               const limits::Deadline* deadline) {
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                return self.run(moves, {temperature, softness}, watch);
            },
            "moves"_a, "softness"_a, "temperature"_a, "deadline"_a = nb::none())
        .def_prop_ro("best", &Self::best)
        .def_prop_ro("best_cost", &Self::best_cost)
        .def_prop_ro("current", &Self::current)
        .def_prop_ro("current_cost", &Self::current_cost);
}

template <class Cost>
void register_rounds(nb::module_& module, const char* name) {
    register_class<Cost>(module, name)
        .def(
            "__init__",
            [](Annealing<Cost>* self, const orders::Array& distance,
               const std::vector<EdgeArray>& rounds, std::vector<double> weights,
               std::vector<int> order, std::uint64_t seed, const limits::Deadline* deadline) {
                ring::Matrix values = orders::matrix(distance);
                orders::require_order(order, values.size());
                RoundsForm form = make_rounds(values.size(), rounds, std::move(weights));
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                new (self) Annealing<Cost>(Cost(std::move(values), std::move(form), watch),
                                           std::move(order), seed, watch);
            },
            "distance"_a, "rounds"_a, "weights"_a, "order"_a, "seed"_a, "deadline"_a = nb::none());
}

}  // namespace

void register_annealing(nb::module_& module) {
    register_rounds<RoundsCost>(module, "RoundsAnnealing");
    register_rounds<LocalRoundsCost>(module, "LocalRoundsAnnealing");

    register_class<TreesCost>(module, "TreesAnnealing")
        .def(
            "__init__",
            [](Annealing<TreesCost>* self, const orders::Array& distance,
               const std::vector<std::vector<int>>& parents, std::vector<int> order,
               std::uint64_t seed, const limits::Deadline* deadline) {
                ring::Matrix values = orders::matrix(distance);
                orders::require_order(order, values.size());
                std::vector<Tree> trees = make_trees(values.size(), parents);
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                new (self)
                    Annealing<TreesCost>(TreesCost(std::move(values), std::move(trees), watch),
                                         std::move(order), seed, watch);
            },
            "distance"_a, "parents"_a, "order"_a, "seed"_a, "deadline"_a = nb::none());
}

}  // namespace plink::annealing

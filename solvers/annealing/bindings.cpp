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
using orders::require_indices;
using orders::require_size;

using EdgeArray = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

RoundsForm make_rounds(int ranks, const std::vector<EdgeArray>& arrays,
                       std::vector<double> weights) {
    require_size(weights.size(), arrays.size());
    std::vector<RoundsForm::Edges> rounds;
    for (const EdgeArray& array : arrays) {
        RoundsForm::Edges& edges = rounds.emplace_back();
        edges.reserve(array.shape(0));
        for (std::size_t edge = 0; edge < array.shape(0); ++edge) {
            edges.emplace_back(static_cast<int>(array(edge, 0)), static_cast<int>(array(edge, 1)));
            require_indices({edges.back().first, edges.back().second}, 0, ranks);
        }
        require(!edges.empty(), "a round has no edges");
    }
    require(!rounds.empty(), "there are no rounds");
    return RoundsForm(ranks, std::move(rounds), std::move(weights));
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

}  // namespace

void register_annealing(nb::module_& module) {
    register_class<RoundsCost>(module, "RoundsAnnealing")
        .def(
            "__init__",
            [](Annealing<RoundsCost>* self, const orders::Array& distance,
               const std::vector<EdgeArray>& rounds, std::vector<double> weights,
               std::vector<int> order, std::uint64_t seed, const limits::Deadline* deadline) {
                ring::Matrix values = orders::matrix(distance);
                orders::require_order(order, values.size());
                RoundsForm form = make_rounds(values.size(), rounds, std::move(weights));
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                new (self)
                    Annealing<RoundsCost>(RoundsCost(std::move(values), std::move(form), watch),
                                          std::move(order), seed, watch);
            },
            "distance"_a, "rounds"_a, "weights"_a, "order"_a, "seed"_a, "deadline"_a = nb::none());

    register_class<LocalRoundsCost>(module, "LocalRoundsAnnealing")
        .def(
            "__init__",
            [](Annealing<LocalRoundsCost>* self, const orders::Array& distance,
               const std::vector<EdgeArray>& rounds, std::vector<double> weights,
               std::vector<LocalRoundsCost::Blocks> levels, std::vector<int> order,
               std::uint64_t seed, const limits::Deadline* deadline) {
                ring::Matrix values = orders::matrix(distance);
                orders::require_order(order, values.size());
                RoundsForm form = make_rounds(values.size(), rounds, std::move(weights));
                for (const LocalRoundsCost::Blocks& blocks : levels) {
                    for (const std::vector<int>& block : blocks) {
                        require_size(block.size(), blocks.front().size());
                        require_indices(block, 0, values.size());
                    }
                }
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                new (self) Annealing<LocalRoundsCost>(
                    LocalRoundsCost(std::move(values), std::move(form), std::move(levels)),
                    std::move(order), seed, watch);
            },
            "distance"_a, "rounds"_a, "weights"_a, "levels"_a, "order"_a, "seed"_a,
            "deadline"_a = nb::none());

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

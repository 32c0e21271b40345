#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
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

using EdgeArray = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

std::vector<RoundsForm::Edges> edges_of(const std::vector<EdgeArray>& arrays) {
    std::vector<RoundsForm::Edges> rounds;
    for (const EdgeArray& array : arrays) {
        RoundsForm::Edges& edges = rounds.emplace_back();
        edges.reserve(array.shape(0));
        for (std::size_t edge = 0; edge < array.shape(0); ++edge) {
            edges.emplace_back(static_cast<int>(array(edge, 0)), static_cast<int>(array(edge, 1)));
        }
    }
    return rounds;
}

RoundsForm checked_rounds(int ranks, std::vector<RoundsForm::Edges> rounds,
                          std::vector<double> weights) {
    require(ranks >= 3, "too few ranks");
    require(!rounds.empty() && rounds.size() == weights.size(),
            "the weights do not fit the rounds");
    for (const RoundsForm::Edges& edges : rounds) {
        require(!edges.empty(), "a round has no edges");
        for (const auto& [a, b] : edges) {
            require(0 <= a && a < ranks && 0 <= b && b < ranks && a != b,
                    "an edge joins no two ranks");
        }
    }
    for (const double weight : weights) {
        require(std::isfinite(weight) && weight > 0.0, "a weight is not above 0");
    }
    return RoundsForm(ranks, std::move(rounds), std::move(weights));
}

std::vector<LocalRoundsCost::Blocks> checked_blocks(int ranks,
                                                    std::vector<LocalRoundsCost::Blocks> levels) {
    for (const LocalRoundsCost::Blocks& blocks : levels) {
        std::vector<bool> is_in_one(ranks, false);
        for (const std::vector<int>& block : blocks) {
            require(block.size() == blocks.front().size(), "the blocks of a level differ in size");
            for (const int rank : block) {
                require(0 <= rank && rank < ranks && !is_in_one[rank],
                        "a block holds what is no rank, or in another block");
                is_in_one[rank] = true;
            }
        }
    }
    return levels;
}

std::vector<Tree> checked_trees(int ranks, const std::vector<std::vector<int>>& parents) {
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

template <class Cost>
nb::class_<Annealing<Cost>> register_of(nb::module_& module, const char* name) {
    using Self = Annealing<Cost>;
    return nb::class_<Self>(module, name)
        .def(
            "restart",
            [](Self& self, const std::vector<int>& order) {
                orders::require_order(order, static_cast<int>(self.current().size()));
                self.restart(order);
            },
            "order"_a)
        .def_prop_ro("best", &Self::best)
        .def_prop_ro("best_cost", &Self::best_cost)
        .def_prop_ro("current", &Self::current)
        .def_prop_ro("current_cost", &Self::current_cost);
}

template <class Cost>
void run_by_softness(nb::class_<Annealing<Cost>> annealing) {
    annealing.def(
        "run",
        [](Annealing<Cost>& self, long moves, double softness, double temperature,
           const limits::Deadline* deadline) {
            require(softness > 0.0 && temperature > 0.0, "heat must be above 0");
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            return self.run(moves, {temperature, softness}, watch);
        },
        "moves"_a, "softness"_a, "temperature"_a, "deadline"_a = nb::none());
}

void register_rounds(nb::module_& module) {
    using Self = Annealing<RoundsCost>;
    auto annealing = register_of<RoundsCost>(module, "RoundsAnnealing");
    annealing.def(
        "__init__",
        [](Self* self, const orders::Array& distance, const std::vector<EdgeArray>& rounds,
           std::vector<double> weights, std::vector<int> order, std::uint64_t seed,
           const limits::Deadline* deadline) {
            ring::Matrix values = orders::matrix(distance);
            orders::require_order(order, values.size());
            RoundsForm form = checked_rounds(values.size(), edges_of(rounds), std::move(weights));
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            new (self) Self(RoundsCost(std::move(values), std::move(form), watch), std::move(order),
                            seed, watch);
        },
        "distance"_a, "rounds"_a, "weights"_a, "order"_a, "seed"_a, "deadline"_a = nb::none());
    run_by_softness<RoundsCost>(annealing);
}

void register_local_rounds(nb::module_& module) {
    using Self = Annealing<LocalRoundsCost>;
    auto annealing = register_of<LocalRoundsCost>(module, "LocalRoundsAnnealing");
    annealing.def(
        "__init__",
        [](Self* self, const orders::Array& distance, const std::vector<EdgeArray>& rounds,
           std::vector<double> weights, std::vector<LocalRoundsCost::Blocks> levels,
           std::vector<int> order, std::uint64_t seed, const limits::Deadline* deadline) {
            ring::Matrix values = orders::matrix(distance);
            orders::require_order(order, values.size());
            RoundsForm form = checked_rounds(values.size(), edges_of(rounds), std::move(weights));
            levels = checked_blocks(values.size(), std::move(levels));
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            new (self) Self(LocalRoundsCost(std::move(values), std::move(form), std::move(levels)),
                            std::move(order), seed, watch);
        },
        "distance"_a, "rounds"_a, "weights"_a, "levels"_a, "order"_a, "seed"_a,
        "deadline"_a = nb::none());
    annealing.def(
        "run",
        [](Self& self, long moves, double temperature, const limits::Deadline* deadline) {
            require(temperature > 0.0, "the temperature must be above 0");
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            return self.run(moves, {temperature}, watch);
        },
        "moves"_a, "temperature"_a, "deadline"_a = nb::none());
}

void register_trees(nb::module_& module) {
    using Self = Annealing<TreesCost>;
    auto annealing = register_of<TreesCost>(module, "TreesAnnealing");
    annealing.def(
        "__init__",
        [](Self* self, const orders::Array& distance, const std::vector<std::vector<int>>& parents,
           std::vector<int> order, std::uint64_t seed, const limits::Deadline* deadline) {
            ring::Matrix values = orders::matrix(distance);
            orders::require_order(order, values.size());
            std::vector<Tree> trees = checked_trees(values.size(), parents);
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            new (self) Self(TreesCost(std::move(values), std::move(trees), watch), std::move(order),
                            seed, watch);
        },
        "distance"_a, "parents"_a, "order"_a, "seed"_a, "deadline"_a = nb::none());
    run_by_softness<TreesCost>(annealing);
}

}  // namespace

void register_annealing(nb::module_& module) {
    register_rounds(module);
    register_local_rounds(module);
    register_trees(module);
}

}  // namespace plink::annealing

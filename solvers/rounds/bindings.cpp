#include "rounds/bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "orders/checks.hpp"
#include "rounds/annealing.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::rounds {

namespace {

using orders::require;

Form form(int ranks, std::vector<Form::Edges> rounds, std::vector<double> weights) {
    require(ranks >= 3, "too few ranks");
    require(!rounds.empty() && rounds.size() == weights.size(),
            "the weights do not fit the rounds");
    for (const Form::Edges& edges : rounds) {
        require(!edges.empty(), "a round has no edges");
        for (const auto& [a, b] : edges) {
            require(0 <= a && a < ranks && 0 <= b && b < ranks && a != b,
                    "an edge joins no two ranks");
        }
    }
    for (const double weight : weights) {
        require(std::isfinite(weight) && weight > 0.0, "a weight is not above 0");
    }
    return Form(ranks, std::move(rounds), std::move(weights));
}

}  // namespace

void register_rounds(nb::module_& module) {
    nb::class_<Annealing>(module, "RoundsAnnealing")
        .def(
            "__init__",
            [](Annealing* self, const orders::Array& distance, std::vector<Form::Edges> rounds,
               std::vector<double> weights, std::vector<int> order, std::uint64_t seed) {
                Matrix values = orders::matrix(distance);
                orders::require_order(order, values.size());
                Form checked = form(values.size(), std::move(rounds), std::move(weights));
                const nb::gil_scoped_release release;
                new (self) Annealing(std::move(values), std::move(checked), std::move(order), seed);
            },
            "distance"_a, "rounds"_a, "weights"_a, "order"_a, "seed"_a)
        .def(
            "restart",
            [](Annealing& self, const std::vector<int>& order) {
                orders::require_order(order, static_cast<int>(self.current().size()));
                self.restart(order);
            },
            "order"_a)
        .def(
            "run",
            [](Annealing& self, long moves, double softness, double temperature) {
                require(softness > 0.0 && temperature > 0.0, "heat must be above 0");
                const nb::gil_scoped_release release;
                self.run(moves, softness, temperature);
            },
            "moves"_a, "softness"_a, "temperature"_a)
        .def_prop_ro("best", &Annealing::best)
        .def_prop_ro("best_cost", &Annealing::best_cost)
        .def_prop_ro("current", &Annealing::current)
        .def_prop_ro("current_cost", &Annealing::current_cost);
}

}  // namespace plink::rounds

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "limits/deadline.hpp"
#include "orders/checks.hpp"
#include "ring/ascent.hpp"
#include "ring/matrix.hpp"
#include "ring/nearest.hpp"
#include "ring/search.hpp"
#include "ring/subset.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::ring {

namespace {

using orders::Array;
using Lists = std::vector<std::vector<int>>;

using orders::matrix;
using orders::require;
using orders::require_indices;
using orders::require_order;
using orders::require_size;

constexpr int kLeastSearchCities = 8;

}  // namespace

void register_ring(nb::module_& module) {
    const nb::call_guard<nb::gil_scoped_release> unlocked;

    module.def(
        "nearest_lists",
        [](const Array& distance, int count, const limits::Deadline& deadline) {
            const Matrix values = matrix(distance);
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            return nearest_lists(values, count, watch);
        },
        "distance"_a, "count"_a, "deadline"_a);

    module.def(
        "nearest_neighbour_ring",
        [](const Array& distance, int first, const limits::Deadline& deadline) {
            const Matrix values = matrix(distance);
            require_indices({first}, 0, values.size());
            const nb::gil_scoped_release release;
            limits::Watch watch(deadline);
            return nearest_neighbour_ring(values, first, watch);
        },
        "distance"_a, "first"_a, "deadline"_a);

    module.def(
        "cheapest_subset_ring",
        [](const Array& distance, int count) {
            const Matrix values = matrix(distance);
            require(values.size() <= kMostSubsetCities, "too many cities");
            require(3 <= count && count <= values.size(), "the ring does not fit the matrix");
            const nb::gil_scoped_release release;
            return cheapest_subset_ring(values, count);
        },
        "distance"_a, "count"_a);

    nb::class_<SubsetAnnealing>(module, "SubsetAnnealing")
        .def(
            "__init__",
            [](SubsetAnnealing* self, const Array& distance, const std::vector<int>& ring,
               std::uint64_t seed, const limits::Deadline* deadline) {
                Matrix values = matrix(distance);
                require_indices(ring, 0, values.size());
                require(4 <= ring.size() && static_cast<int>(ring.size()) < values.size(),
                        "the ring does not fit the matrix");
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                new (self) SubsetAnnealing(std::move(values), ring, seed, watch);
            },
            "distance"_a, "ring"_a, "seed"_a, "deadline"_a = nb::none())
        .def(
            "run",
            [](SubsetAnnealing& self, long moves, double temperature,
               const limits::Deadline* deadline) {
                const nb::gil_scoped_release release;
                limits::Watch watch(deadline);
                return self.run(moves, temperature, watch);
            },
            "moves"_a, "temperature"_a, "deadline"_a = nb::none())
        .def_prop_ro("ring", &SubsetAnnealing::ring)
        .def_prop_ro("cost", &SubsetAnnealing::cost);

    nb::class_<Ascent>(module, "Ascent")
        .def(
            "__init__",
            [](Ascent* self, const Array& distance, double upper) {
                Matrix values = matrix(distance);
                require(values.size() >= 3, "too few cities");
                new (self) Ascent(std::move(values), upper);
            },
            "distance"_a, "upper"_a)
        .def(
            "run",
            [](Ascent& self, int iterations, const limits::Deadline* deadline) {
                limits::Watch watch(deadline);
                return self.run(iterations, watch);
            },
            "iterations"_a, "deadline"_a = nb::none(), unlocked)
        .def(
            "candidates",
            [](const Ascent& self, int by_alpha, int by_distance,
               const limits::Deadline* deadline) {
                limits::Watch watch(deadline);
                return self.candidates(by_alpha, by_distance, watch);
            },
            "by_alpha"_a, "by_distance"_a, "deadline"_a = nb::none(), unlocked)
        .def_prop_ro("bound", &Ascent::bound);

    nb::class_<Search>(module, "Search")
        .def(
            "__init__",
            [](Search* self, const Array& distance, const Lists& candidates, std::vector<int> order,
               std::uint64_t seed, double enough, int depth, double temperature) {
                Matrix values = matrix(distance);
                require(values.size() >= kLeastSearchCities, "too few cities");
                require_order(order, values.size());
                require_size(candidates.size(), values.size());
                for (const auto& others : candidates) require_indices(others, 0, values.size());
                const nb::gil_scoped_release release;
                new (self) Search(std::move(values), candidates, std::move(order), seed, enough,
                                  depth, temperature);
            },
            "distance"_a, "candidates"_a, "order"_a, "seed"_a, "enough"_a, "depth"_a,
            "temperature"_a)
        .def("shake", &Search::shake, "kicks"_a, unlocked)
        .def("run", &Search::run, "kicks"_a, "seconds"_a, unlocked)
        .def_prop_ro("is_enough", &Search::is_enough)
        .def_prop_ro("is_settled", &Search::is_settled)
        .def_prop_ro("best", &Search::best)
        .def_prop_ro("best_cost", &Search::best_cost)
        .def_prop_ro("current", &Search::current)
        .def_prop_ro("current_cost", &Search::current_cost)
        .def_prop_ro("kicks", &Search::kicks);
}

}  // namespace plink::ring

#include "ring/bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "ring/exact.hpp"
#include "ring/matrix.hpp"
#include "ring/one_tree.hpp"
#include "ring/search.hpp"
#include "ring/subset.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::ring {

namespace {

using Array = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Lists = std::vector<std::vector<int>>;

constexpr int kLeastSearchCities = 8;

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

Matrix matrix(const Array& array) {
    require(array.shape(0) == array.shape(1), "the matrix is not square");
    return Matrix(array.data(), static_cast<int>(array.shape(0)));
}

void require_order(const std::vector<int>& order, int size) {
    require(static_cast<int>(order.size()) == size, "the order does not fit the matrix");
    std::vector<char> seen(size, 0);
    for (const int city : order) {
        require(0 <= city && city < size && !seen[city], "the order is not a permutation");
        seen[city] = 1;
    }
}

void require_candidates(const Lists& candidates, int size) {
    require(static_cast<int>(candidates.size()) == size, "the candidates do not fit the matrix");
    for (int i = 0; i < size; ++i) {
        for (const int j : candidates[i]) {
            require(0 <= j && j < size && j != i, "a candidate is not another city");
        }
    }
}

}  // namespace

void register_ring(nb::module_& module) {
    const nb::call_guard<nb::gil_scoped_release> unlocked;

    module.def(
        "cheapest_ring",
        [](const Array& distance) {
            const Matrix values = matrix(distance);
            require(values.size() <= kMostExactCities, "too many cities");
            const nb::gil_scoped_release release;
            return cheapest_ring(values);
        },
        "distance"_a);

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
               std::uint64_t seed) {
                Matrix values = matrix(distance);
                std::vector<char> seen(values.size(), 0);
                for (const int city : ring) {
                    require(0 <= city && city < values.size() && !seen[city],
                            "the ring is not a tour of these cities");
                    seen[city] = 1;
                }
                require(ring.size() >= 4 && ring.size() < seen.size(),
                        "the ring does not fit the matrix");
                const nb::gil_scoped_release release;
                new (self) SubsetAnnealing(std::move(values), ring, seed);
            },
            "distance"_a, "ring"_a, "seed"_a)
        .def(
            "run",
            [](SubsetAnnealing& self, long moves, double temperature) {
                require(temperature > 0.0, "the temperature must be above 0");
                const nb::gil_scoped_release release;
                self.run(moves, temperature);
            },
            "moves"_a, "temperature"_a)
        .def_prop_ro("ring", &SubsetAnnealing::ring)
        .def_prop_ro("cost", &SubsetAnnealing::cost);

    module.def(
        "one_tree_length",
        [](const Array& distance, const std::vector<double>& penalty) {
            const Matrix values = matrix(distance);
            require(values.size() >= 3, "too few cities");
            require(static_cast<int>(penalty.size()) == values.size(),
                    "the penalties do not fit the matrix");
            const nb::gil_scoped_release release;
            return minimum_one_tree(values, penalty).length;
        },
        "distance"_a, "penalty"_a);

    nb::class_<Ascent>(module, "Ascent")
        .def(
            "__init__",
            [](Ascent* self, const Array& distance, double upper) {
                Matrix values = matrix(distance);
                require(values.size() >= 3, "too few cities");
                new (self) Ascent(std::move(values), upper);
            },
            "distance"_a, "upper"_a)
        .def("run", &Ascent::run, "iterations"_a, unlocked)
        .def("candidates", &Ascent::candidates, "by_alpha"_a, "by_distance"_a, unlocked)
        .def_prop_ro("bound", &Ascent::bound)
        .def_prop_ro("penalty", &Ascent::penalty);

    nb::class_<Search>(module, "Search")
        .def(
            "__init__",
            [](Search* self, const Array& distance, Lists candidates, std::vector<int> order,
               std::uint64_t seed, double enough) {
                Matrix values = matrix(distance);
                require(values.size() >= kLeastSearchCities, "too few cities");
                require_order(order, values.size());
                require_candidates(candidates, values.size());
                const nb::gil_scoped_release release;
                new (self) Search(std::move(values), std::move(candidates), std::move(order), seed,
                                  enough);
            },
            "distance"_a, "candidates"_a, "order"_a, "seed"_a, "enough"_a)
        .def("run", &Search::run, "kicks"_a, "seconds"_a, unlocked)
        .def_prop_ro("is_enough", &Search::is_enough)
        .def_prop_ro("is_settled", &Search::is_settled)
        .def_prop_ro("best", &Search::best)
        .def_prop_ro("best_cost", &Search::best_cost)
        .def_prop_ro("current", &Search::current)
        .def_prop_ro("current_cost", &Search::current_cost)
        .def_prop_ro("kicks", &Search::kicks)
        .def_prop_ro("idle_kicks", &Search::idle_kicks);
}

}  // namespace plink::ring

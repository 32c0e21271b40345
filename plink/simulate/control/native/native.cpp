#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bitvector.hpp"
#include "full.hpp"
#include "python_types.hpp"
#include "training.hpp"
#include "tree.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::simulate {

namespace {

template <typename Value>
Value attribute(nb::handle object, const char* name) {
    return nb::cast<Value>(object.attr(name));
}

std::unique_ptr<control::Machine> machine_of(const std::string& mode, control::Place place,
                                             const control::Settings& settings) {
    if (mode == "tree") return std::make_unique<control::Tree>(std::move(place), settings);
    if (mode == "bitvector") {
        return std::make_unique<control::BitVector>(std::move(place), settings);
    }
    return std::make_unique<control::Full>(std::move(place), settings);
}

Clocked::Machines machines_of(const std::string& mode, nb::handle places, nb::handle settings) {
    const control::Settings of_all = control::settings_of(settings);
    Clocked::Machines machines;
    for (const nb::handle place : places) {
        machines.push_back(machine_of(mode, control::place_of(place), of_all));
    }
    return machines;
}

std::vector<Training::Call> calls_of(nb::handle calls) {
    std::vector<Training::Call> found;
    for (const nb::handle call : calls) {
        Training::Call& requests = found.emplace_back();
        for (const nb::handle announced : call) {
            const control::Event event = control::event_of(announced);
            for (const auto& one : std::get<control::Announced>(event).requests) {
                requests.push_back(one);
            }
        }
    }
    return found;
}

Costs costs_of(nb::handle costs) {
    return {attribute<double>(costs, "latency_s"), attribute<double>(costs, "step_s"),
            attribute<double>(costs, "in_s"),      attribute<double>(costs, "in_s_per_byte"),
            attribute<double>(costs, "out_s"),     attribute<double>(costs, "out_s_per_byte")};
}

std::optional<Often> often_of(nb::handle often) {
    if (often.is_none()) return std::nullopt;
    return Often{attribute<double>(often, "share"), attribute<double>(often, "by_s"),
                 attribute<std::uint64_t>(often, "seed")};
}

DataPlane data_of(nb::handle data) {
    return {attribute<double>(data, "latency_s"), attribute<double>(data, "bytes_s"),
            attribute<bool>(data, "holds_thread")};
}

using Orders = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Times = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::object iterate(Training& self, const Orders& order, const Times& ready_s) {
    Iteration done;
    {
        const nb::gil_scoped_release unlocked;
        done = self.iterate({order.data(), ready_s.data()});
    }
    return nb::make_tuple(done.took_s, done.reduced_s, nb::cast(done.released),
                          nb::cast(done.latencies_s));
}

}  // namespace

}  // namespace plink::simulate

NB_MODULE(_native, module) {
    using namespace plink::simulate;
    module.doc() = "Trainings on a clock; `training.py` says how.";
    nb::class_<Training>(module, "Training")
        .def(
            "__init__",
            [](Training* self, const std::string& mode, nb::handle places, nb::handle settings,
               nb::handle calls, nb::handle costs, nb::handle data, nb::handle oversleep,
               double spinning, std::vector<std::size_t> heeds_done) {
                new (self)
                    Training(machines_of(mode, places, settings), calls_of(calls), costs_of(costs),
                             data_of(data), often_of(oversleep), spinning, std::move(heeds_done));
            },
            "mode"_a, "places"_a, "settings"_a, "calls"_a, "costs"_a, "data"_a,
            "oversleep"_a.none(), "spinning"_a, "heeds_done"_a)
        .def("iterate", &iterate, "order"_a, "ready_s"_a)
        .def_prop_ro("now_s", [](const Training& self) { return self.clock().now_s(); })
        .def_prop_ro("messages", [](const Training& self) { return self.clock().messages(); })
        .def("waited_s",
             [](const Training& self, std::size_t rank) { return self.clock().waited_s(rank); })
        .def("busy_s",
             [](const Training& self, std::size_t rank) { return self.clock().busy_s(rank); })
        .def("heard_bytes",
             [](const Training& self, std::size_t rank) { return self.clock().heard_bytes(rank); })
        .def("spreads_s", [](const Training& self) { return self.clock().spreads_s(); });
}

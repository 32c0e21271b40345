#include <nanobind/nanobind.h>

#include "limits/deadline.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::limits {

void Watch::look_for_signals() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void register_limits(nb::module_& module) {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const TimeOver& error) {
            PyErr_SetString(PyExc_TimeoutError, error.what());
        }
    });
    nb::class_<Deadline>(module, "Deadline")
        .def(nb::init<double>(), "seconds"_a = Deadline::kMostSeconds)
        .def("within", &Deadline::within, "seconds"_a)
        .def("part", &Deadline::part, "share"_a)
        .def("at_least", &Deadline::at_least, "seconds"_a)
        .def("require", &Deadline::require)
        .def("stop", &Deadline::stop)
        .def_prop_ro("is_over", [](const Deadline& self) { return self.is_over(); })
        .def_prop_ro("left_s", &Deadline::left_s);
}

}  // namespace plink::limits

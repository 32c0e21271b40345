#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bitvector.hpp"
#include "driver.hpp"
#include "full.hpp"
#include "python_types.hpp"
#include "tree.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::control {

namespace {

/// A machine as Python steps it.
struct PythonMachine {
    std::unique_ptr<Machine> machine;
    PythonActions actions;
};
template <typename Mode>
struct PythonMode : PythonMachine {
    PythonMode(nb::handle place, nb::handle settings)
        : PythonMachine{std::make_unique<Mode>(place_of(place), settings_of(settings)), {}} {}
};

/// A driver as Python uses it.
struct PythonDriver {
    std::unique_ptr<Driver> driver;
    PythonActions actions;
};

nb::list step(PythonMachine& self, nb::handle given, double now_s) {
    std::vector<Event> events;
    for (const nb::handle event : given) events.push_back(event_of(event));
    nb::list actions;
    for (const Action& action : self.machine->step(events, now_s)) {
        actions.append(self.actions.of(action));
    }
    return actions;
}

nb::object next(PythonDriver& self, double seconds) {
    Driver::Wanted wanted;
    {
        const nb::gil_scoped_release unlocked;
        wanted = self.driver->next(seconds);
    }
    nb::list actions;
    for (const Action& action : wanted.actions) actions.append(self.actions.of(action));
    return nb::make_tuple(actions, wanted.is_cut_off, wanted.has_ended);
}

template <typename Mode>
void bind_cycles(nb::module_& module, const char* name) {
    nb::class_<PythonMode<Mode>, PythonMachine>(module, name)
        .def(nb::init<nb::handle, nb::handle>(), "place"_a, "settings"_a)
        .def_prop_ro("cycles", [](const PythonMode<Mode>& self) {
            return static_cast<const Mode&>(*self.machine).cycles();
        });
}

}  // namespace

}  // namespace plink::control

NB_MODULE(_native, module) {
    using namespace plink::control;
    module.doc() =
        "The native machines of control; `tree.py`, `full.py` and `bitvector.py` say how they "
        "agree.";
    // Programs end with groups alive, which PyTorch keeps to the end of the process.
    nb::set_leak_warnings(false);
    nb::class_<PythonMachine>(module, "Machine")
        .def_prop_ro("digest", [](const PythonMachine& self) { return self.machine->digest(); })
        .def_prop_ro("messages_taken",
                     [](const PythonMachine& self) { return self.machine->messages_taken(); })
        .def("step", &step, "events"_a, "now_s"_a);
    nb::class_<PythonMode<Tree>, PythonMachine>(module, "Tree")
        .def(nb::init<nb::handle, nb::handle>(), "place"_a, "settings"_a);
    bind_cycles<Full>(module, "Full");
    bind_cycles<BitVector>(module, "BitVector");
    nb::class_<PythonDriver>(module, "Driver")
        .def(
            "__init__",
            [](PythonDriver* self, PythonMachine& machine,
               std::shared_ptr<plink::transport::Letters> letters) {
                new (self) PythonDriver{driver_of(*machine.machine, std::move(letters)), {}};
            },
            "machine"_a, "letters"_a, nb::keep_alive<1, 2>())
        .def(
            "tell",
            [](PythonDriver& self, nb::handle given) {
                Event event = event_of(given);
                // It may send.
                const nb::gil_scoped_release unlocked;
                self.driver->tell(std::move(event));
            },
            "event"_a)
        .def("next", &next, "seconds"_a)
        .def(
            "close", [](PythonDriver& self, const std::string& text) { self.driver->close(text); },
            "text"_a, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("busy_s", [](PythonDriver& self) { return self.driver->busy_s(); });
}

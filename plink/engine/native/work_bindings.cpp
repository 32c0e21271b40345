#include "work_bindings.hpp"

#include <nanobind/stl/optional.h>

#include <cstdio>
#include <limits>
#include <optional>

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::engine {

namespace {

// How long a wait goes on before it looks whether the user wants to interrupt it.
constexpr double kBetweenSignals_s = 0.05;

std::uint64_t number(const Posted& posted) { return posted.work.collective->number; }

void settle(Posted& posted, Collective::Status status) {
    const std::shared_ptr<void> over = std::move(*posted.work.memory);
    if (status == Collective::Status::kDone) return;
    nb::cast<LentEngine&>(posted.engine).engine.check();
    throw EngineFailed(-1, "collective " + std::to_string(number(posted)) + " was not completed");
}

[[noreturn]] void say_late(const Posted& posted, double seconds) {
    char text[96];
    std::snprintf(text, sizeof(text), "collective %llu has not ended within %g s",
                  static_cast<unsigned long long>(number(posted)), seconds);
    PyErr_SetString(PyExc_TimeoutError, text);
    throw nb::python_error();
}

void wait(Posted& posted, std::optional<double> timeout_s) {
    using Clock = std::chrono::steady_clock;
    const double seconds = timeout_s.value_or(std::numeric_limits<double>::infinity());
    const auto begin = Clock::now();
    for (;;) {
        const double left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
        Collective::Status status;
        {
            const nb::gil_scoped_release release;
            status = posted.work.collective->wait(std::min(kBetweenSignals_s, std::max(0.0, left)));
        }
        if (status != Collective::Status::kPending) return settle(posted, status);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (left <= 0.0) say_late(posted, seconds);
    }
}

/// At the other end of a message; none for a collective, and while nobody knows.
std::optional<int> peer(const Posted& posted) {
    const auto* const message = dynamic_cast<Message*>(posted.work.collective.get());
    if (message == nullptr || message->peer() < 0) return std::nullopt;
    return message->peer();
}

std::optional<double> seconds(std::optional<Collective::Clock::time_point> at) {
    if (!at) return std::nullopt;
    return std::chrono::duration<double>(at->time_since_epoch()).count();
}

}  // namespace

Posted posted(nb::handle engine, Work work) { return {std::move(work), nb::borrow(engine)}; }

void register_work(nb::module_& module) {
    nb::class_<Posted>(module, "Work",
                       "Made by an engine's collectives and messages. Its arrays must not be "
                       "touched before it has ended.")
        .def("wait", &wait, "timeout_s"_a = nb::none(),
             "Returns when the array holds the result. Ctrl-C interrupts it, not the collective.\n"
             "\n"
             "Raises:\n"
             "    EngineError: the engine failed; it names the culprit.\n"
             "    TimeoutError: not within `timeout_s`. The collective goes on.")
        .def(
            "done", [](const Posted& posted) { return posted.work.is_over(); },
            "Whether it has ended, well or not; `wait` then returns or raises at once.")
        .def_prop_ro("number", &number, "The collective's number: 0 for the engine's first.")
        .def_prop_ro("peer", &peer,
                     "At the other end of a message; None for a collective, and while nobody "
                     "knows.")
        .def_prop_ro(
            "posted_s",
            [](const Posted& posted) { return seconds(posted.work.collective->times().posted); },
            "When it was called, as `time.monotonic` says it.")
        .def_prop_ro(
            "begun_s",
            [](const Posted& posted) { return seconds(posted.work.collective->times().begun); },
            "When a worker took it up; None before that.")
        .def_prop_ro(
            "ended_s",
            [](const Posted& posted) { return seconds(posted.work.collective->times().ended); },
            "When it ended, well or not; None before that.");
}

}  // namespace plink::engine

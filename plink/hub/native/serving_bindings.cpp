#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "loop.hpp"
#include "setting_up.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::hub {

namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<ChunkPlace> places_of(const Numbers& ids, const Numbers& items, const Numbers& groups) {
    if (ids.size() != items.size() || ids.size() != groups.size()) {
        throw std::invalid_argument("a chunk has a number, a length and a group");
    }
    std::vector<ChunkPlace> places;
    places.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i > 0 && ids.data()[i] <= ids.data()[i - 1]) {
            throw std::invalid_argument("chunks are in ascending order");
        }
        places.push_back({ids.data()[i], items.data()[i], groups.data()[i]});
    }
    return places;
}

/// Its arrays become numpy's, and are not copied.
nb::object tuple_of(LaneCopy& copy) {
    nb::list arrays;
    for (std::vector<float>& array : copy.arrays) {
        auto* const kept = new std::vector<float>(std::move(array));
        nb::capsule owner(kept,
                          [](void* its) noexcept { delete static_cast<std::vector<float>*>(its); });
        arrays.append(
            nb::ndarray<nb::numpy, float, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
    }
    const nb::bytes hypers(copy.hypers.data(), copy.hypers.size());
    return nb::make_tuple(copy.iteration, copy.steps, hypers, arrays);
}

void register_options(nb::module_& module) {
    nb::class_<LaneOptions>(module, "LaneOptions")
        .def(nb::init<>())
        .def_rw("tenant", &LaneOptions::tenant)
        .def_rw("lane", &LaneOptions::lane)
        .def_rw("workers", &LaneOptions::workers)
        .def_rw("groups", &LaneOptions::groups)
        .def_prop_rw(
            "optimizer", [](const LaneOptions& its) { return static_cast<int>(its.optimizer); },
            [](LaneOptions& its, int value) { its.optimizer = static_cast<Optimizer>(value); })
        .def_prop_rw(
            "mode", [](const LaneOptions& its) { return static_cast<int>(its.mode); },
            [](LaneOptions& its, int value) { its.mode = static_cast<Mode>(value); })
        .def_prop_rw(
            "wire", [](const LaneOptions& its) { return static_cast<int>(its.wire); },
            [](LaneOptions& its, int value) { its.wire = static_cast<Wire>(value); })
        .def_rw("staleness", &LaneOptions::staleness)
        .def_rw("is_by_step", &LaneOptions::is_by_step)
        .def_rw("is_in_order", &LaneOptions::is_in_order)
        .def_rw("skips_nonfinite", &LaneOptions::skips_nonfinite)
        .def_rw("clip", &LaneOptions::clip)
        .def_rw("racks", &LaneOptions::racks)
        .def_rw("rack", &LaneOptions::rack);
}

void register_figures(nb::module_& module) {
    nb::class_<LaneFigures>(module, "LaneFigures")
        .def_ro("iteration", &LaneFigures::iteration)
        .def_ro("steps", &LaneFigures::steps)
        .def_ro("skipped", &LaneFigures::skipped)
        .def_ro("replays", &LaneFigures::replays)
        .def_ro("early_bytes", &LaneFigures::early_bytes)
        .def_ro("most_early_bytes", &LaneFigures::most_early_bytes)
        .def_ro("bytes_in", &LaneFigures::bytes_in)
        .def_ro("bytes_out", &LaneFigures::bytes_out)
        .def_ro("queued_bytes", &LaneFigures::queued_bytes);
    nb::class_<LinkFigures>(module, "LinkFigures")
        .def_ro("lane", &LinkFigures::lane)
        .def_ro("worker", &LinkFigures::worker)
        .def_ro("bytes_in", &LinkFigures::bytes_in)
        .def_ro("bytes_out", &LinkFigures::bytes_out);
}

}  // namespace

void register_serving(nb::module_& module) {
    register_options(module);
    register_figures(module);
    nb::class_<Event>(module, "Event")
        .def_prop_ro("what", [](const Event& event) { return static_cast<int>(event.what); })
        .def_ro("tenant", &Event::tenant)
        .def_ro("lane", &Event::lane)
        .def_ro("worker", &Event::worker)
        .def_ro("incarnation", &Event::incarnation)
        .def_ro("text", &Event::text)
        .def_ro("iteration", &Event::iteration);
    module.attr("LOST") = static_cast<int>(Event::What::kLost);
    module.attr("FAULT") = static_cast<int>(Event::What::kFault);
    module.attr("FILLED") = static_cast<int>(Event::What::kFilled);
    module.attr("MISSED") = static_cast<int>(Event::What::kMissed);
    module.attr("PEER_LOST") = static_cast<int>(Event::What::kPeerLost);
    module.attr("COPIED") = static_cast<int>(Event::What::kCopied);
    nb::class_<Events>(module, "Events")
        .def(nb::init<>())
        .def("fd", &Events::fd)
        .def("take", &Events::take);
    const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<Loop>(module, "Loop")
        .def(nb::init<std::shared_ptr<Events>, int>(), "events"_a, "core"_a)
        .def(
            "open",
            [](Loop& loop, const LaneOptions& options, const Numbers& ids, const Numbers& items,
               const Numbers& groups, double weight) {
                auto places = places_of(ids, items, groups);
                const nb::gil_scoped_release release;
                loop.open(options, std::move(places), weight);
            },
            "options"_a, "ids"_a, "items"_a, "groups"_a, "weight"_a)
        .def(
            "adopt",
            [](Loop& loop, std::uint32_t tenant, std::uint32_t lane, std::uint32_t worker,
               std::uint16_t incarnation, int fd, const LineOptions& line) {
                loop.adopt(tenant, lane, worker, incarnation, taken_over(fd, line, false));
            },
            "tenant"_a, "lane"_a, "worker"_a, "incarnation"_a, "fd"_a, "line"_a, unlocked)
        .def(
            "adopt_peer",
            [](Loop& loop, std::uint32_t tenant, std::uint32_t lane, std::uint32_t rack, int fd,
               const LineOptions& line, bool is_caller) {
                loop.adopt_peer(tenant, lane, rack, taken_over(fd, line, is_caller));
            },
            "tenant"_a, "lane"_a, "rack"_a, "fd"_a, "line"_a, "is_caller"_a, unlocked)
        .def("fail", &Loop::fail, "tenant"_a, "why"_a, unlocked)
        .def("retire", &Loop::retire, "tenant"_a, "worker"_a, "why"_a, unlocked)
        .def("admit", &Loop::admit, "tenant"_a, "worker"_a, "since"_a, unlocked)
        .def("drop", &Loop::drop, "tenant"_a, "worker"_a, "since"_a, "revision"_a, unlocked)
        .def("gather", &Loop::gather, "tenant"_a, unlocked)
        .def("pass_over", &Loop::pass_over, "tenant"_a, "iteration"_a, unlocked)
        .def("has_all_of", &Loop::has_all_of, "tenant"_a, "worker"_a, "iteration"_a, unlocked)
        .def("cut", &Loop::cut, "tenant"_a, "worker"_a, unlocked)
        .def("copy_at", &Loop::copy_at, "tenant"_a, "iteration"_a, unlocked)
        .def(
            "copy_now",
            [](Loop& loop, std::uint32_t tenant, std::uint32_t lane,
               std::uint32_t iteration) -> nb::object {
                LaneCopy copy;
                bool is_done;
                {
                    const nb::gil_scoped_release release;
                    is_done = loop.copy_now(tenant, lane, iteration, copy);
                }
                return is_done ? tuple_of(copy) : nb::none();
            },
            "tenant"_a, "lane"_a, "iteration"_a)
        .def(
            "take_copy",
            [](Loop& loop, std::uint32_t tenant, std::uint32_t lane) {
                LaneCopy copy;
                {
                    const nb::gil_scoped_release release;
                    copy = loop.take_copy(tenant, lane);
                }
                return tuple_of(copy);
            },
            "tenant"_a, "lane"_a)
        .def(
            "load",
            [](Loop& loop, std::uint32_t tenant, std::uint32_t lane, std::uint32_t iteration,
               std::uint64_t steps, const std::vector<Floats>& arrays) {
                LaneCopy copy{iteration, steps, {}, {}};
                for (const Floats& array : arrays) {
                    copy.arrays.emplace_back(array.data(), array.data() + array.size());
                }
                const nb::gil_scoped_release release;
                loop.load(tenant, lane, copy);
            },
            "tenant"_a, "lane"_a, "iteration"_a, "steps"_a, "arrays"_a)
        .def("close", &Loop::close, "tenant"_a, unlocked)
        .def("figures", &Loop::figures, "tenant"_a, "lane"_a, unlocked)
        .def("links", &Loop::links, "tenant"_a, unlocked)
        .def("stop", &Loop::stop, unlocked);
}

}  // namespace plink::hub

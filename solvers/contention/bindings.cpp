#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "contention/clock.hpp"
#include "contention/flows.hpp"
#include "contention/search.hpp"
#include "limits/deadline.hpp"
#include "orders/checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::contention {

namespace {

using Ints = std::vector<int>;
using Doubles = std::vector<double>;
using Placements = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using orders::require;
using orders::require_indices;
using orders::require_order;
using orders::require_size;

void require_stages(const Stages& stages, int ranks) {
    const std::size_t flows = stages.sources.size();
    require_size(stages.destinations.size(), flows);
    require_size(stages.sizes_bytes.size(), flows);
    require_size(stages.starts.size(), stages.counts.size() + 1);
    require_size(stages.starts.back(), flows);
    require_size(stages.goes_round.size(), stages.counts.size());
    require_indices(stages.starts, 0, static_cast<int>(flows) + 1);
    require_indices(stages.sources, 0, ranks);
    require_indices(stages.destinations, 0, ranks);
}

void require_problem(const Problem& problem, int ranks) {
    const std::size_t hosts = problem.group_of.size();
    require_size(problem.send_s_byte.size(), hosts);
    require_size(problem.receive_s_byte.size(), hosts);
    require_size(problem.uplink_receive_s_byte.size(), problem.groups());
    require_size(problem.latency_s.size(), hosts);
    require_size(problem.tie_distance.size(), hosts);
    require_indices(problem.group_of, -1, problem.groups());
    require_stages(problem.loads, ranks);
    require_stages(problem.waits, ranks);
}

void require_messages(const Messages& messages, const FlowLinks& links) {
    const std::size_t count = messages.senders.size();
    const int last = static_cast<int>(messages.path_links.size());
    require_size(messages.rounds.size(), count);
    require_size(messages.receivers.size(), count);
    require_size(messages.sizes_bytes.size(), count);
    require_size(messages.delays_s.size(), count);
    require_size(messages.after.size(), count);
    require_size(messages.path_starts.size(), count + 1);
    require_size(links.bursts.size(), links.rates.size());
    require_indices(messages.senders, 0, messages.ranks);
    require_indices(messages.receivers, 0, messages.ranks);
    require_indices(messages.after, -1, static_cast<int>(count));
    require_indices(messages.path_starts, 0, last + 1);
    require_indices(messages.path_links, 0, static_cast<int>(links.rates.size()));
}

/// The times of the first of (M, R) placements, as many as the time suffices for.
Doubles times_s(Clock& clock, const Placements& placements, int least,
                const limits::Deadline& deadline) {
    require_size(placements.shape(1), clock.ranks());
    const std::int64_t* values = placements.data();
    const auto is_host = [&](std::int64_t host) { return 0 <= host && host < clock.hosts(); };
    require(std::all_of(values, values + placements.size(), is_host), "an index does not fit");
    const nb::gil_scoped_release release;
    limits::Watch watch(deadline);
    Doubles found;
    for (std::size_t row = 0; row < placements.shape(0); ++row) {
        if (watch.is_over() && static_cast<int>(row) >= least) break;
        found.push_back(clock.time_s(values + row * placements.shape(1)));
    }
    return found;
}

}  // namespace

void register_contention(nb::module_& module) {
    nb::class_<Stages>(module, "ContentionStages")
        .def(
            "__init__",
            [](Stages* self, Ints starts, Ints sources, Ints destinations, Doubles sizes_bytes,
               Doubles counts, std::vector<bool> goes_round) {
                new (self)
                    Stages{std::move(starts),      std::move(sources), std::move(destinations),
                           std::move(sizes_bytes), std::move(counts),  std::move(goes_round)};
            },
            "starts"_a, "sources"_a, "destinations"_a, "sizes_bytes"_a, "counts"_a, "goes_round"_a);

    nb::class_<Problem>(module, "ContentionProblem")
        .def(
            "__init__",
            [](Problem* self, Ints group_of, Doubles send_s_byte, Doubles receive_s_byte,
               Doubles uplink_send_s_byte, Doubles uplink_receive_s_byte,
               const orders::Array& latency_s, const orders::Array& tie_distance,
               const Stages& loads, const Stages& waits) {
                new (self) Problem{std::move(group_of),
                                   std::move(send_s_byte),
                                   std::move(receive_s_byte),
                                   std::move(uplink_send_s_byte),
                                   std::move(uplink_receive_s_byte),
                                   orders::matrix(latency_s),
                                   orders::matrix(tie_distance),
                                   loads,
                                   waits};
            },
            "group_of"_a, "send_s_byte"_a, "receive_s_byte"_a, "uplink_send_s_byte"_a,
            "uplink_receive_s_byte"_a, "latency_s"_a, "tie_distance"_a, "loads"_a, "waits"_a);

    nb::class_<Clock>(module, "ContentionClock")
        .def(
            "__init__",
            [](Clock* self, const Problem& problem, int ranks) {
                require_problem(problem, ranks);
                new (self) Clock(problem, ranks);
            },
            "problem"_a, "ranks"_a)
        .def("times_s", &times_s, "placements"_a, "least"_a, "deadline"_a);

    module.def(
        "flow_time_s",
        [](int ranks, Ints rounds, Ints senders, Ints receivers, Doubles sizes_bytes,
           Doubles delays_s, Ints after, Ints path_starts, Ints path_links, Doubles rates,
           Doubles bursts, double peak_bytes_s, double empty_share, double reduction_s_byte,
           double cycle_s, double slice_s, Doubles begins_s) {
            const Messages messages{ranks,
                                    std::move(rounds),
                                    std::move(senders),
                                    std::move(receivers),
                                    std::move(sizes_bytes),
                                    std::move(delays_s),
                                    std::move(after),
                                    std::move(path_starts),
                                    std::move(path_links)};
            const FlowLinks links{std::move(rates), std::move(bursts), peak_bytes_s, empty_share};
            require_messages(messages, links);
            const Turns turns{cycle_s, slice_s, std::move(begins_s)};
            require(cycle_s <= 0.0 || turns.begins_s.size() == static_cast<std::size_t>(ranks),
                    "the turns do not fit the ranks");
            const nb::gil_scoped_release release;
            return flow_time_s(messages, links, turns, reduction_s_byte);
        },
        "ranks"_a, "rounds"_a, "senders"_a, "receivers"_a, "sizes_bytes"_a, "delays_s"_a, "after"_a,
        "path_starts"_a, "path_links"_a, "rates"_a, "bursts"_a, "peak_bytes_s"_a, "empty_share"_a,
        "reduction_s_byte"_a, "cycle_s"_a, "slice_s"_a, "begins_s"_a);

    nb::class_<Search>(module, "ContentionSearch")
        .def(
            "__init__",
            [](Search* self, const Problem& problem, Ints order, std::uint64_t seed, long steps,
               double heat) {
                require_problem(problem, problem.hosts());
                require_order(order, problem.hosts());
                new (self) Search(problem, std::move(order), seed, steps, heat);
            },
            nb::keep_alive<1, 2>(), "problem"_a, "order"_a, "seed"_a, "steps"_a, "heat"_a)
        .def("run", &Search::run, "seconds"_a, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("is_done", &Search::is_done)
        .def_prop_ro("steps", &Search::steps)
        .def_prop_ro("order", &Search::order)
        .def_prop_ro("current", &Search::current)
        .def_prop_ro("current_time_s", [](const Search& self) { return self.cost().time_s; });
}

}  // namespace plink::contention

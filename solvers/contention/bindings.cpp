#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <limits>
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

ring::Matrix amounts(const orders::Array& array, std::size_t hosts) {
    require(array.shape(0) == hosts && array.shape(1) == hosts, "a matrix does not fit the hosts");
    bool are_amounts = true;
    for (std::size_t i = 0; i < hosts * hosts; ++i) {
        const double value = array.data()[i];
        are_amounts &= value >= 0.0 && value <= std::numeric_limits<double>::max();
    }
    require(are_amounts, "a number is negative or not finite");
    return orders::matrix(array);
}

void require_amounts(const Doubles& values, std::size_t count) {
    require(values.size() == count, "numbers do not fit the problem");
    for (const double value : values) {
        require(std::isfinite(value) && value >= 0.0, "a number is negative or not finite");
    }
}

void require_stages(const Stages& stages, int ranks) {
    const int flows = static_cast<int>(stages.sources.size());
    require(stages.destinations.size() == stages.sources.size(), "the flows do not fit together");
    require(stages.starts.size() == stages.counts.size() + 1, "the stages do not fit the flows");
    require(stages.starts.front() == 0 && stages.starts.back() == flows,
            "the stages do not fit the flows");
    for (int stage = 0; stage < stages.size(); ++stage) {
        require(stages.starts[stage] < stages.starts[stage + 1], "a stage does not fit the flows");
    }
    for (int flow = 0; flow < flows; ++flow) {
        const int from = stages.sources[flow];
        const int to = stages.destinations[flow];
        require(0 <= from && from < ranks && 0 <= to && to < ranks && from != to,
                "a flow does not fit the ranks");
    }
    require_amounts(stages.counts, stages.counts.size());
}

using orders::require_order;

/// The times of the first of (M, R) placements, as many as the time suffices for.
Doubles times_s(Clock& clock, const Placements& placements, int least,
                const limits::Deadline& deadline) {
    require(placements.shape(1) == static_cast<std::size_t>(clock.ranks()),
            "a placement does not fit the ranks");
    const std::int64_t* values = placements.data();
    for (std::size_t i = 0; i < placements.size(); ++i) {
        require(0 <= values[i] && values[i] < clock.hosts(), "a placement holds others than hosts");
    }
    const nb::gil_scoped_release release;
    limits::Watch watch(deadline);
    Doubles found;
    for (std::size_t row = 0; row < placements.shape(0); ++row) {
        if (watch.is_over() && static_cast<int>(row) >= least) break;
        found.push_back(clock.time_s(values + row * placements.shape(1)));
    }
    return found;
}

Problem make_problem(Ints group_of, Doubles send, Doubles receive, Doubles uplink_send,
                     Doubles uplink_receive, const orders::Array& latency_s,
                     const orders::Array& tie_distance) {
    Problem problem(amounts(latency_s, group_of.size()), amounts(tie_distance, group_of.size()));
    problem.hosts = static_cast<int>(group_of.size());
    problem.groups = static_cast<int>(uplink_send.size());
    require(problem.hosts >= 1, "there are no hosts");
    require_amounts(send, group_of.size());
    require_amounts(receive, group_of.size());
    require_amounts(uplink_send, uplink_send.size());
    require_amounts(uplink_receive, uplink_send.size());
    for (const int group : group_of) {
        require(-1 <= group && group < problem.groups, "a group does not fit the uplinks");
    }
    problem.group_of = std::move(group_of);
    problem.send_s_byte = std::move(send);
    problem.receive_s_byte = std::move(receive);
    problem.uplink_send_s_byte = std::move(uplink_send);
    problem.uplink_receive_s_byte = std::move(uplink_receive);
    problem.loads.starts = {0};
    problem.waits.starts = {0};
    return problem;
}

void require_turns(const Turns& turns, int ranks) {
    require_amounts({turns.cycle_s, turns.slice_s}, 2);
    if (turns.cycle_s > 0.0) {
        require_amounts(turns.begins_s, static_cast<std::size_t>(ranks));
        require(turns.slice_s > 0.0, "a turn takes no time");
    }
}

void require_messages(const Messages& messages, std::size_t links) {
    const std::size_t count = messages.senders.size();
    require(messages.rounds.size() == count && messages.receivers.size() == count &&
                messages.after.size() == count && messages.path_starts.size() == count + 1,
            "the messages do not fit together");
    require_amounts(messages.sizes_bytes, count);
    require_amounts(messages.delays_s, count);
    require(messages.path_starts.front() == 0 &&
                messages.path_starts.back() == static_cast<int>(messages.path_links.size()),
            "the paths do not fit the messages");
    for (std::size_t i = 0; i < count; ++i) {
        const int from = messages.senders[i];
        const int to = messages.receivers[i];
        require(0 <= from && from < messages.ranks && 0 <= to && to < messages.ranks && from != to,
                "a message does not fit the ranks");
        const int first = messages.after[i];
        require(-1 <= first && first < static_cast<int>(count) &&
                    (first < 0 || messages.rounds[first] == messages.rounds[i]) &&
                    first != static_cast<int>(i) && (first < 0 || messages.after[first] < 0),
                "a message waits for one that does not fit");
        require(i == 0 || messages.rounds[i - 1] <= messages.rounds[i], "the rounds do not ascend");
        require(messages.path_starts[i] <= messages.path_starts[i + 1],
                "the paths do not fit the messages");
    }
    for (const int link : messages.path_links) {
        require(0 <= link && link < static_cast<int>(links), "a path leads over no link");
    }
}

void require_links(const FlowLinks& links) {
    require(links.bursts.size() == links.rates.size(), "the buckets do not fit the links");
    for (const double rate : links.rates) require(rate > 0.0, "a rate is not above 0");
    require_amounts(links.bursts, links.bursts.size());
    require(links.peak_bytes_s > 0.0 && links.empty_share > 0.0 && links.empty_share < 1.0,
            "a bucket cannot be so");
}

}  // namespace

void register_contention(nb::module_& module) {
    nb::class_<Problem>(module, "ContentionProblem")
        .def(
            "__init__",
            [](Problem* self, Ints group_of, Doubles send_s_byte, Doubles receive_s_byte,
               Doubles uplink_send_s_byte, Doubles uplink_receive_s_byte,
               const orders::Array& latency_s, const orders::Array& tie_distance) {
                new (self) Problem(
                    make_problem(std::move(group_of), std::move(send_s_byte),
                                 std::move(receive_s_byte), std::move(uplink_send_s_byte),
                                 std::move(uplink_receive_s_byte), latency_s, tie_distance));
            },
            "group_of"_a, "send_s_byte"_a, "receive_s_byte"_a, "uplink_send_s_byte"_a,
            "uplink_receive_s_byte"_a, "latency_s"_a, "tie_distance"_a)
        .def(
            "set_loads",
            [](Problem& self, Ints starts, Ints sources, Ints destinations, Doubles sizes_bytes,
               Doubles counts, int ranks) {
                Stages stages{std::move(starts), std::move(sources), std::move(destinations),
                              std::move(counts)};
                require_stages(stages, ranks);
                require_amounts(sizes_bytes, stages.sources.size());
                self.loads = std::move(stages);
                self.sizes_bytes = std::move(sizes_bytes);
            },
            "starts"_a, "sources"_a, "destinations"_a, "sizes_bytes"_a, "counts"_a, "ranks"_a)
        .def(
            "set_waits",
            [](Problem& self, Ints starts, Ints sources, Ints destinations, Doubles counts,
               const std::vector<bool>& goes_round, int ranks) {
                Stages stages{std::move(starts), std::move(sources), std::move(destinations),
                              std::move(counts)};
                require_stages(stages, ranks);
                require(goes_round.size() == stages.counts.size(),
                        "the stages do not fit the flows");
                self.waits = std::move(stages);
                self.goes_round.assign(goes_round.begin(), goes_round.end());
            },
            "starts"_a, "sources"_a, "destinations"_a, "counts"_a, "goes_round"_a, "ranks"_a);

    nb::class_<Clock>(module, "ContentionClock")
        .def(
            "__init__",
            [](Clock* self, const Problem& problem, int ranks) {
                require(ranks >= 1, "there are no ranks");
                require_stages(problem.loads, ranks);
                require_stages(problem.waits, ranks);
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
            require_links(links);
            require_messages(messages, links.rates.size());
            require_amounts({reduction_s_byte}, 1);
            const Turns turns{cycle_s, slice_s, std::move(begins_s)};
            require_turns(turns, ranks);
            const nb::gil_scoped_release release;
            return flow_time_s(messages, links, turns, reduction_s_byte);
        },
        "ranks"_a, "rounds"_a, "senders"_a, "receivers"_a, "sizes_bytes"_a, "delays_s"_a, "after"_a,
        "path_starts"_a, "path_links"_a, "rates"_a, "bursts"_a, "peak_bytes_s"_a, "empty_share"_a,
        "reduction_s_byte"_a, "cycle_s"_a = 0.0, "slice_s"_a = 0.0, "begins_s"_a = Doubles{});

    nb::class_<Search>(module, "ContentionSearch")
        .def(
            "__init__",
            [](Search* self, const Problem& problem, Ints order, std::uint64_t seed, long steps,
               double heat) {
                require_order(order, problem.hosts);
                require_stages(problem.loads, problem.hosts);
                require_stages(problem.waits, problem.hosts);
                require(steps >= 0, "the number of steps is negative");
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

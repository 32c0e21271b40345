#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "contention/problem.hpp"

namespace plink::contention {

/// What an order costs.
struct Cost {
    double time_s = 0.0;
    double tie = 0.0;  // the sum of the flows' distances, each stage as often as it is passed
};

/// An order, the loads that it puts on every link, and its cost, all kept current over swaps of two
/// ranks. The greatest latency of a stage is blurred to a power mean, and while `is_smooth` so is
/// the slowest of the uplinks, so that an uplink that is not the slowest has a say too.
class State {
  public:
    State(const Problem& problem, std::vector<int> order)
        : problem_(problem),
          load_incidence_(problem.loads, problem.hosts()),
          wait_incidence_(problem.waits, problem.hosts()),
          is_load_touched_(problem.loads.size(), 0),
          is_wait_touched_(problem.waits.size(), 0) {
        const Stages& loads = problem.loads;
        sent_bytes_.assign(place(loads.size(), problem.hosts(), 0), 0.0);
        received_bytes_ = sent_bytes_;
        for (int flow = 0; flow < static_cast<int>(loads.sources.size()); ++flow) {
            const int stage = load_incidence_.stage_of(flow);
            const double size_bytes = problem.loads.sizes_bytes[flow];
            sent_bytes_[place(stage, problem.hosts(), loads.sources[flow])] += size_bytes;
            received_bytes_[place(stage, problem.hosts(), loads.destinations[flow])] += size_bytes;
        }
        reset(std::move(order));
    }

    const std::vector<int>& order() const { return order_; }
    Cost cost() const { return {load_s_ + wait_s_, tie_}; }

    /// Exchange the hosts of two ranks. Swapping again takes it back.
    void swap(int first, int second) {
        const int first_host = order_[first];
        const int second_host = order_[second];
        const bool moves_loads = problem_.group_of[first_host] != problem_.group_of[second_host];
        const bool moves_hosts = differ_in_rate(first_host, second_host);
        const auto move = [&](double sign) {
            if (moves_loads || moves_hosts) {
                visit_flows(
                    load_incidence_, problem_.loads.destinations, first, second, [&](int flow) {
                        touch(touched_loads_, is_load_touched_, load_incidence_.stage_of(flow));
                        if (moves_loads) add_load(flow, sign);
                    });
            }
            visit_flows(wait_incidence_, problem_.waits.destinations, first, second, [&](int flow) {
                touch(touched_waits_, is_wait_touched_, wait_incidence_.stage_of(flow));
                add_wait(flow, sign);
            });
        };
        move(-1.0);
        std::swap(order_[first], order_[second]);
        move(1.0);
        for (const int stage : touched_loads_) {
            if (moves_hosts) measure_hosts(stage);
            settle_load(stage);
            is_load_touched_[stage] = 0;
        }
        for (const int stage : touched_waits_) {
            settle_wait(stage);
            is_wait_touched_[stage] = 0;
        }
        touched_loads_.clear();
        touched_waits_.clear();
    }

    /// Another order, with every sum made anew.
    void reset(std::vector<int> order) {
        order_ = std::move(order);
        const int stages = problem_.loads.size();
        leaving_bytes_.assign(place(stages, problem_.groups(), 0), 0.0);
        entering_bytes_ = leaving_bytes_;
        uplink_power_.assign(stages, 0.0);
        slowest_host_s_.assign(stages, 0.0);
        stage_load_s_.assign(stages, 0.0);
        wait_sum_.assign(problem_.waits.size(), 0.0);
        stage_wait_s_.assign(problem_.waits.size(), 0.0);
        load_s_ = wait_s_ = tie_ = 0.0;
        for (int flow = 0; flow < static_cast<int>(problem_.loads.sources.size()); ++flow) {
            add_load(flow, 1.0);
        }
        for (int flow = 0; flow < static_cast<int>(problem_.waits.sources.size()); ++flow) {
            add_wait(flow, 1.0);
        }
        for (int stage = 0; stage < stages; ++stage) {
            measure_hosts(stage);
            settle_load(stage);
        }
        for (int stage = 0; stage < problem_.waits.size(); ++stage) settle_wait(stage);
    }

    void set_smooth(bool is_smooth) {
        is_smooth_ = is_smooth;
        for (int stage = 0; stage < problem_.loads.size(); ++stage) settle_load(stage);
    }

  private:
    /// The power of the means that stand for maxima.
    static double to_power(double value) {
        const double squared = value * value;
        const double fourth = squared * squared;
        return fourth * fourth;
    }

    static double from_power(double value) {
        // Taking a sum's parts away again can leave a little less than nothing.
        return std::sqrt(std::sqrt(std::sqrt(std::max(0.0, value))));
    }

    static std::size_t place(int stage, int width, int column) {
        return static_cast<std::size_t>(stage) * width + column;
    }

    /// Every flow of the two ranks, once.
    template <typename Visit>
    void visit_flows(const Incidence& incidence, const std::vector<int>& destinations, int first,
                     int second, const Visit& visit) const {
        const std::vector<int>& sources =
            &incidence == &load_incidence_ ? problem_.loads.sources : problem_.waits.sources;
        for (const int flow : incidence.flows_of(first)) visit(flow);
        for (const int flow : incidence.flows_of(second)) {
            if (sources[flow] != first && destinations[flow] != first) visit(flow);
        }
    }

    void add_load(int flow, double sign) {
        const int stage = load_incidence_.stage_of(flow);
        const int from = problem_.group_of[order_[problem_.loads.sources[flow]]];
        const int to = problem_.group_of[order_[problem_.loads.destinations[flow]]];
        if (from == to) return;
        const double size_bytes = sign * problem_.loads.sizes_bytes[flow];
        if (from >= 0) {
            const double s_byte = problem_.uplink_send_s_byte[from];
            put_on_uplink(leaving_bytes_, s_byte, stage, from, size_bytes);
        }
        if (to >= 0) {
            const double s_byte = problem_.uplink_receive_s_byte[to];
            put_on_uplink(entering_bytes_, s_byte, stage, to, size_bytes);
        }
    }

    void add_wait(int flow, double sign) {
        const int stage = wait_incidence_.stage_of(flow);
        const int from = order_[problem_.waits.sources[flow]];
        const int to = order_[problem_.waits.destinations[flow]];
        const double latency_s = problem_.latency_s(from, to);
        wait_sum_[stage] +=
            sign * (problem_.waits.goes_round[stage] ? latency_s : to_power(latency_s));
        tie_ += sign * problem_.waits.counts[stage] * problem_.tie_distance(from, to);
    }

    void put_on_uplink(std::vector<double>& bytes, double s_byte, int stage, int group,
                       double size_bytes) {
        double& total = bytes[place(stage, problem_.groups(), group)];
        const double before = to_power(total * s_byte);
        total += size_bytes;
        uplink_power_[stage] += to_power(total * s_byte) - before;
    }

    void touch(std::vector<int>& touched, std::vector<char>& is_touched, int stage) {
        if (is_touched[stage]) return;
        is_touched[stage] = 1;
        touched.push_back(stage);
    }

    bool differ_in_rate(int first_host, int second_host) const {
        return problem_.send_s_byte[first_host] != problem_.send_s_byte[second_host] ||
               problem_.receive_s_byte[first_host] != problem_.receive_s_byte[second_host];
    }

    void measure_hosts(int stage) {
        double slowest_s = 0.0;
        for (int rank = 0; rank < problem_.hosts(); ++rank) {
            const std::size_t at = place(stage, problem_.hosts(), rank);
            const int host = order_[rank];
            slowest_s = std::max({slowest_s, sent_bytes_[at] * problem_.send_s_byte[host],
                                  received_bytes_[at] * problem_.receive_s_byte[host]});
        }
        slowest_host_s_[stage] = slowest_s;
    }

    void settle_load(int stage) {
        const double host_s = slowest_host_s_[stage];
        const double now_s = is_smooth_ ? from_power(uplink_power_[stage] + to_power(host_s))
                                        : std::max(host_s, slowest_uplink_s(stage));
        load_s_ += problem_.loads.counts[stage] * (now_s - stage_load_s_[stage]);
        stage_load_s_[stage] = now_s;
    }

    void settle_wait(int stage) {
        const Stages& waits = problem_.waits;
        const double mean = wait_sum_[stage] / (waits.starts[stage + 1] - waits.starts[stage]);
        const double now_s = problem_.waits.goes_round[stage] ? mean : from_power(mean);
        wait_s_ += waits.counts[stage] * (now_s - stage_wait_s_[stage]);
        stage_wait_s_[stage] = now_s;
    }

    double slowest_uplink_s(int stage) const {
        double slowest_s = 0.0;
        for (int group = 0; group < problem_.groups(); ++group) {
            const std::size_t at = place(stage, problem_.groups(), group);
            slowest_s =
                std::max({slowest_s, leaving_bytes_[at] * problem_.uplink_send_s_byte[group],
                          entering_bytes_[at] * problem_.uplink_receive_s_byte[group]});
        }
        return slowest_s;
    }

    const Problem& problem_;
    Incidence load_incidence_;
    Incidence wait_incidence_;
    std::vector<int> order_;
    bool is_smooth_ = true;

    // By stage of the loads; uplinks by stage and group.
    std::vector<double> sent_bytes_;      // by stage and rank
    std::vector<double> received_bytes_;  // by stage and rank
    std::vector<double> leaving_bytes_;
    std::vector<double> entering_bytes_;
    std::vector<double> uplink_power_;
    std::vector<double> slowest_host_s_;
    std::vector<double> stage_load_s_;
    // By stage of the waits.
    std::vector<double> wait_sum_;
    std::vector<double> stage_wait_s_;

    double load_s_ = 0.0;
    double wait_s_ = 0.0;
    double tie_ = 0.0;

    std::vector<int> touched_loads_;
    std::vector<int> touched_waits_;
    std::vector<char> is_load_touched_;
    std::vector<char> is_wait_touched_;
};

}  // namespace plink::contention

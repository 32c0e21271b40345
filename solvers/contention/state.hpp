#pragma once

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
    State(const Problem& problem, std::vector<int> order);

    const std::vector<int>& order() const { return order_; }
    Cost cost() const { return {load_s_ + wait_s_, tie_}; }

    /// Exchange the hosts of two ranks. Swapping again takes it back.
    void swap(int first, int second);
    /// Another order, with every sum made anew.
    void reset(std::vector<int> order);
    void set_smooth(bool is_smooth);

  private:
    template <typename Visit>
    void visit_flows(const Incidence& incidence, const std::vector<int>& destinations, int first,
                     int second, const Visit& visit) const;
    void add_load(int flow, double sign);
    void add_wait(int flow, double sign);
    void put_on_uplink(std::vector<double>& bytes, double s_byte, int stage, int group,
                       double size_bytes);
    void touch(std::vector<int>& touched, std::vector<char>& is_touched, int stage);
    bool differ_in_rate(int first_host, int second_host) const;
    void measure_hosts(int stage);
    void settle_load(int stage);
    void settle_wait(int stage);
    double slowest_uplink_s(int stage) const;

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

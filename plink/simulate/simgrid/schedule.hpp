// A schedule: operations that wait for others. Part of one program (`simulator.cpp`).
#pragma once

#include <deque>
#include <memory>

#include "network.hpp"

namespace {

// A message where two hosts differ, else something that takes a time.
class Schedule {
  public:
    Schedule(const Request& request, const Network& network)
        : hosts_(network.hosts),
          from_(numbers<std::int32_t>(request.operations)),
          to_(numbers<std::int32_t>(request.operations)),
          amount_(numbers<double>(request.operations)),
          lane_(numbers<std::int32_t>(request.operations)),
          starts_(numbers<std::int64_t>(request.operations + 1)),
          successors_(numbers<std::int32_t>(request.edges)),
          waits_for_(request.operations, 0),
          under_way_(request.operations),
          waiting_(request.lanes),
          busy_s_(request.lanes, 0.0),
          change_s_(numbers<double>(request.changes)),
          change_kind_(numbers<std::int32_t>(request.changes)),
          change_of_(numbers<std::int32_t>(request.changes)),
          change_rate_(numbers<double>(request.changes)),
          left_(request.operations) {
        for (const auto next : successors_) ++waits_for_[next];
    }

    double run(sg::Engine& engine) {
        if (successors_.empty() && waiting_.size() == left_) return run_flows(engine);
        // Called by SimGrid's kernel, where nothing blocks: what follows starts at once.
        sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
            const auto number = reinterpret_cast<std::intptr_t>(activity.get_data<void>());
            if (number) end(static_cast<std::int32_t>(number - 1));
        });
        auto done = sg::Semaphore::create(0);
        done_ = done.get();
        sg::Actor::create("clerk", hosts_[0], [this, done] {
            simgrid::kernel::actor::simcall_answered([this] {
                for (std::size_t one = 0; one < change_s_.size(); ++one) set_change(one);
                for (std::size_t one = 0; one < waits_for_.size(); ++one)
                    if (!waits_for_[one]) ready_.push_back(static_cast<std::int32_t>(one));
                begin_ready();
            });
            if (left_) done->acquire();
        });
        engine.run();
        if (left_) throw std::runtime_error("operations wait for each other");
        return end_s_;
    }

    // By lane, how long it had something to send.
    const std::vector<double>& busy_s() const { return busy_s_; }

  private:
    // Nothing waits. Where all hosts' flows are one actor's, SimGrid looks for each that ends among
    // all that are under way, which takes minutes with 60,000 of them: here each host has its own.
    double run_flows(sg::Engine& engine) {
        std::vector<std::vector<std::int32_t>> sent(hosts_.size()), received(hosts_.size());
        for (std::size_t one = 0; one < left_; ++one) {
            sent[from_[one]].push_back(static_cast<std::int32_t>(one));
            received[to_[one]].push_back(static_cast<std::int32_t>(one));
        }
        for (std::size_t host = 0; host < hosts_.size(); ++host) {
            sg::Actor::create("o", hosts_[host], [this, flows = std::move(sent[host])] {
                std::vector<sg::CommPtr> all;
                for (const auto one : flows) {
                    const auto size = static_cast<std::uint64_t>(std::max(amount_[one], 1.0));
                    auto* box = sg::Mailbox::by_name(std::to_string(one));
                    all.push_back(box->put_async(&amount_[one], size));
                }
                for (std::size_t at = 0; at < all.size(); ++at) {
                    all[at]->wait();
                    busy_s_[lane_[flows[at]]] = all[at]->get_finish_time();
                }
            });
            sg::Actor::create("i", hosts_[host], [flows = std::move(received[host])] {
                std::vector<double*> places(flows.size());
                std::vector<sg::CommPtr> all;
                for (std::size_t at = 0; at < flows.size(); ++at)
                    all.push_back(sg::Mailbox::by_name(std::to_string(flows[at]))
                                      ->get_async<double>(&places[at]));
                for (auto& one : all) one->wait();
            });
        }
        for (std::size_t one = 0; one < change_s_.size(); ++one) set_change(one);
        engine.run();
        return *std::max_element(busy_s_.begin(), busy_s_.end());
    }

    // Links of hosts and uplinks, each in two directions.
    void set_change(std::size_t one) {
        static const char* const kinds[] = {"s", "r", "u", "d"};
        const auto name = kinds[change_kind_[one]] + std::to_string(change_of_[one]);
        auto* link = sg::Link::by_name(name);
        simgrid::kernel::timer::Timer::set(
            change_s_[one], [link, rate = change_rate_[one]] { link->set_bandwidth(rate); });
    }

    struct Waiting {
        std::int32_t operation;
        double ready_s;
    };

    // In the sequence in which they became ready, which is that of a connection's messages.
    void begin_ready() {
        for (std::size_t at = 0; at < ready_.size(); ++at) {
            const auto one = ready_[at];
            if (from_[one] != to_[one]) {
                if (lane_[one] >= 0) {
                    auto& queue = waiting_[lane_[one]];
                    const double now_s = sg::Engine::get_clock();
                    queue.push_back({one, now_s});
                    if (queue.size() > 1) continue;
                    busy_s_[lane_[one]] -= now_s;
                }
                send(one);
            } else if (amount_[one] > 0.0) {
                simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + amount_[one],
                                                   [this, one] { end(one); });
            } else {
                finish(one);
            }
        }
        ready_.clear();
    }

    void send(std::int32_t one) {
        auto comm = sg::Comm::sendto_init(hosts_[from_[one]], hosts_[to_[one]]);
        comm->set_payload_size(static_cast<std::uint64_t>(std::max(amount_[one], 1.0)));
        comm->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(one) + 1));
        under_way_[one] = comm;
        comm->start();
    }

    void end(std::int32_t one) {
        ended_.clear();
        if (under_way_[one]) {
            ended_.push_back(std::move(under_way_[one]));
            if (lane_[one] >= 0) {
                auto& queue = waiting_[lane_[one]];
                queue.pop_front();
                if (!queue.empty()) {
                    // What comes right behind it was on its way meanwhile.
                    head_start = sg::Engine::get_clock() - queue.front().ready_s;
                    send(queue.front().operation);
                    head_start = 0.0;
                } else {
                    busy_s_[lane_[one]] += sg::Engine::get_clock();
                }
            }
        }
        finish(one);
        begin_ready();
    }

    void finish(std::int32_t one) {
        for (auto at = starts_[one]; at < starts_[one + 1]; ++at)
            if (!--waits_for_[successors_[at]]) ready_.push_back(successors_[at]);
        if (--left_) return;
        end_s_ = sg::Engine::get_clock();
        done_->release();
    }

    const std::vector<sg::Host*>& hosts_;
    std::vector<std::int32_t> from_, to_;
    std::vector<double> amount_;
    std::vector<std::int32_t> lane_;
    std::vector<std::int64_t> starts_;
    std::vector<std::int32_t> successors_, waits_for_, ready_;
    std::vector<sg::CommPtr> under_way_, ended_;
    // By lane: what is under way, and what follows it.
    std::vector<std::deque<Waiting>> waiting_;
    std::vector<double> busy_s_;
    std::vector<double> change_s_;
    std::vector<std::int32_t> change_kind_, change_of_;
    std::vector<double> change_rate_;
    std::size_t left_;
    double end_s_ = 0.0;
    sg::Semaphore* done_ = nullptr;
};

}  // namespace

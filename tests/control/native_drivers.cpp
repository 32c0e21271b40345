#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "driver.hpp"
#include "native_ranks.hpp"

namespace plink::control::test {

namespace {

/// Carries letters between drivers, as supervisors do.
class Carrier {
  public:
    explicit Carrier(int ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            boxes_.push_back(std::make_shared<plink::transport::Letters>(
                [this, rank](int to, const std::string& bytes) {
                    boxes_[to]->add(rank, bytes, true);
                    ring();
                },
                [this] { ring(); }));
        }
        thread_ = std::thread([this] { run(); });
    }
    ~Carrier() {
        is_over_ = true;
        ring();
        thread_.join();
    }
    const std::shared_ptr<plink::transport::Letters>& box(int rank) { return boxes_[rank]; }

  private:
    void ring() {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_rung_ = true;
        rung_.notify_one();
    }
    void run() {
        while (!is_over_) {
            auto until = plink::transport::Letters::Clock::time_point::max();
            for (const auto& box : boxes_) until = std::min(until, box->attend());
            std::unique_lock<std::mutex> lock(mutex_);
            const auto is_rung = [this] { return is_rung_; };
            if (until == plink::transport::Letters::Clock::time_point::max()) {
                rung_.wait(lock, is_rung);
            } else {
                rung_.wait_until(lock, until, is_rung);
            }
            is_rung_ = false;
        }
        for (const auto& box : boxes_) box->end();
    }

    std::vector<std::shared_ptr<plink::transport::Letters>> boxes_;
    std::mutex mutex_;
    std::condition_variable rung_;
    bool is_rung_ = false;
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

}  // namespace

void drive(unsigned seed) {
    constexpr int kRanks = 5;
    constexpr int kTensors = 20;
    constexpr int kIterations = 10;
    Random random(seed);
    Settings settings{1 << 20, 0.001, 60.0, {}, 3, 1 << 20};
    settings.common_sleep_every = seed % 2;
    settings.is_blocking = seed % 4 != 0;
    const std::vector<Place> places = random_tree(random, kRanks);
    auto carrier = std::make_unique<Carrier>(kRanks);
    std::vector<std::unique_ptr<Machine>> machines;
    std::vector<std::unique_ptr<Driver>> drivers;
    for (int rank = 0; rank < kRanks; ++rank) {
        machines.push_back(machine_of(seed, places[rank], settings));
        drivers.push_back(driver_of(*machines.back(), carrier->box(rank)));
    }
    std::vector<std::vector<std::string>> released(kRanks);
    std::atomic<int> waiting{0};
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
            Random own(seed * kRanks + static_cast<unsigned>(rank));
            Driver& driver = *drivers[rank];
            for (int iteration = 0; iteration < kIterations; ++iteration) {
                std::vector<RequestRef> all;
                for (int i = 0; i < kTensors; ++i)
                    all.push_back(request("t" + std::to_string(i), i));
                std::shuffle(all.begin(), all.end(), own);
                for (const RequestRef& one : all) driver.tell(Announced{{one}});
                while (released[rank].size() <
                       static_cast<std::size_t>((iteration + 1) * kTensors)) {
                    for (const Action& action : driver.next(60.0).actions) {
                        const auto& release = std::get<Release>(action);
                        for (const Batch& batch : release.batches) {
                            for (const RequestRef& one : batch.requests) {
                                released[rank].push_back(one->name);
                            }
                        }
                        driver.tell(Done{static_cast<std::int64_t>(release.batches.size())});
                    }
                }
            }
            // Until the carrier ends, or this driver is closed.
            driver.tell(Announced{{request("never", rank)}});
            ++waiting;
            for (Driver::Wanted wanted; !wanted.has_ended;) {
                wanted = driver.next(60.0);
                if (wanted.is_cut_off) driver.tell(Lost{"the carrier ended"});
                for (const Action& action : wanted.actions) {
                    failed += std::holds_alternative<FailAll>(action);
                }
            }
        });
    }
    while (waiting < kRanks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (random() % 2 == 0) {
        for (auto& driver : drivers) driver->close("closed");
        carrier.reset();
    } else {
        carrier.reset();
        for (auto& driver : drivers) driver->close("closed");
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failed == kRanks);
}

}  // namespace plink::control::test

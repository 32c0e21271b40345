#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "driver.hpp"

namespace plink::control {

/// Runs a machine with cycles in a thread of its own, which sleeps between them, hears nothing
/// meanwhile, and wakes when it has to: no interpreter and no supervisor keeps it.
class SleepingDriver final : public Driver {
  public:
    SleepingDriver(Machine& machine, std::shared_ptr<transport::Letters> letters);
    ~SleepingDriver() override;

    void tell(Event event) override;
    void close(const std::string& text) override;
    /// Of the whole thread, up to its last step.
    double busy_s() override { return busy_s_; }

  private:
    void run();
    std::vector<Event> await();
    void sleep(double seconds);

    std::atomic<double> busy_s_{0.0};
    /// No more letters come.
    bool is_cut_off_ = false;

    std::mutex mutex_;
    std::condition_variable told_;
    std::condition_variable closing_;
    std::vector<Event> events_;
    bool is_closed_ = false;
    std::thread thread_;
};

}  // namespace plink::control

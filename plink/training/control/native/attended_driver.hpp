#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.hpp"

namespace plink::control {

/// Runs a machine in the thread of a rank's supervisor, so that no thread wakes another between a
/// letter and its answer; what is announced while nothing else is, in the thread that tells, so
/// that none does between an announcement and its letter.
class AttendedDriver final : public Driver, private transport::Letters::Reader {
  public:
    AttendedDriver(Machine& machine, std::shared_ptr<transport::Letters> letters);
    ~AttendedDriver() override;

    void tell(Event event) override;
    void close(const std::string& text) override;
    double busy_s() override;

  private:
    using Letter = transport::Letters::Letter;
    using Clock = transport::Letters::Clock;

    Clock::time_point read(std::vector<Letter> come, bool is_over) override;
    void step_with_told(std::vector<Event> events);
    void step_locked(std::vector<Event> events);

    /// Held while the machine is used, and taken before the other.
    std::mutex stepping_;
    double busy_s_ = 0.0;
    bool is_closed_ = false;
    /// Something was announced after which the machine wanted nothing yet: what is announced next
    /// may go together with more.
    bool is_awaiting_ = false;
    /// When the supervisor's thread looks again by itself.
    double attended_s_ = 0.0;

    std::mutex mutex_;
    std::vector<Event> events_;
};

}  // namespace plink::control

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "events.hpp"
#include "letters.hpp"
#include "machine.hpp"
#include "outlet.hpp"

namespace plink::control {

/// Runs a machine beside the engine of a rank, and hands out what it wants beyond letters and
/// sleep.
class Driver {
  public:
    using Wanted = Outlet::Wanted;

    virtual ~Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Something has happened on this rank.
    virtual void tell(Event event) = 0;
    /// What is pending fails with `text`, and `next` ends. Later calls do nothing.
    virtual void close(const std::string& text) = 0;
    /// Processor time that the machine took, in seconds.
    virtual double busy_s() = 0;
    /// Waits for what the machine wants next, for `seconds` at most.
    Wanted next(double seconds) { return outlet_.next(seconds); }

  protected:
    Driver(Machine& machine, std::shared_ptr<transport::Letters> letters);

    /// Lets the machine know of this at `now`, and does what it wants. Returns whether that is more
    /// than letters and sleep.
    bool step(const std::vector<Event>& events, double now);

    const std::shared_ptr<transport::Letters> letters_;
    Machine& machine_;
    Outlet outlet_;
    /// When the machine is to be told `Ticked`, and whether it hears nothing until then.
    double wakes_s_;
    bool is_asleep_ = false;
};

/// What letters say.
std::vector<Event> events_of(std::vector<transport::Letters::Letter> come);

/// As the machine needs it: one that sleeps in a thread of its own, others in the supervisor's.
/// `machine`: used by nobody else as long as the driver lives.
std::unique_ptr<Driver> driver_of(Machine& machine, std::shared_ptr<transport::Letters> letters);

}  // namespace plink::control

#pragma once

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "letters.hpp"
#include "tree.hpp"

namespace plink::control {

/// A thread that runs a machine beside a rank's engine: it carries messages and keeps time, and
/// hands out what else the machine wants.
class Driver {
  public:
    /// What is handed out, one after the other.
    struct Wanted {
        std::vector<Action> actions;
        bool has_ended = false;   ///< there is no more
        bool is_cut_off = false;  ///< no more letters come: whoever knows why is to tell `Lost`
    };

    /// `machine`: used by nobody else as long as this lives.
    Driver(Tree& machine, std::shared_ptr<transport::Letters> letters);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Something has happened on this rank.
    void tell(Event event);
    /// Waits for what the machine wants next, for `seconds` at most.
    Wanted next(double seconds);
    /// Ends the thread; what is pending fails with `text`. Later calls do nothing.
    void close(const std::string& text);

    /// Processor time of the thread, in seconds.
    double busy_s();

  private:
    void run();
    /// What comes from others, or nothing where something else is to be looked at.
    std::vector<Event> await();
    void act(std::vector<Action> actions);

    Tree& machine_;
    const std::shared_ptr<transport::Letters> letters_;
    std::mutex mutex_;
    std::condition_variable told_;
    std::condition_variable wanted_;
    std::vector<Event> events_;
    Wanted out_;
    bool is_closed_ = false;
    bool is_cut_off_ = false;  ///< of the thread
    double wakes_s_ = std::numeric_limits<double>::infinity();
    std::mutex closing_;
    std::thread thread_;
};

}  // namespace plink::control

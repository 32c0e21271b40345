#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "letters.hpp"
#include "tree.hpp"

namespace plink::control {

/// Runs a machine in the thread of a rank's supervisor, so that no thread wakes another between a
/// letter and its answer, and hands out what else the machine wants.
class Driver final : private transport::Letters::Reader {
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
    /// What is pending fails with `text`, and `next` ends. Later calls do nothing.
    void close(const std::string& text);

    /// Processor time that the machine took, in seconds.
    double busy_s();

  private:
    using Letter = transport::Letters::Letter;
    using Clock = transport::Letters::Clock;

    Clock::time_point read(std::vector<Letter> come, bool is_over) override;
    void step(std::vector<Event> events);
    void act(std::vector<Action> actions);

    const std::shared_ptr<transport::Letters> letters_;
    /// Held while the machine is used, and taken before the other.
    std::mutex stepping_;
    Tree& machine_;
    double wakes_s_;
    double busy_s_ = 0.0;
    bool is_closed_ = false;

    std::mutex mutex_;
    std::condition_variable wanted_;
    std::vector<Event> events_;
    Wanted out_;
};

}  // namespace plink::control

#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "actions.hpp"

namespace plink::control {

/// Where a machine's wishes wait for whoever fulfils them.
class Outlet {
  public:
    /// What is handed out, one after the other.
    struct Wanted {
        std::vector<Action> actions;
        bool has_ended = false;   ///< there is no more
        bool is_cut_off = false;  ///< no more letters come: whoever knows why is to tell `Lost`
    };

    void add(std::vector<Action> actions);
    void cut_off();
    void end();
    /// Waits for what is wanted next, for `seconds` at most.
    Wanted next(double seconds);

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    Wanted out_;
};

}  // namespace plink::control

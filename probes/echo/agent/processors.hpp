// Where the agent runs while it meets another host.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>

namespace plink {

// Hosts of one machine meet on processors that the coordinator names: a pair's reading would else
// depend on whether the scheduler puts its two ends together or apart.
class Processors {
  public:
    // Remembers where this process may run.
    Processors();

    // Runs on that processor from here on, on any of those at the beginning where it names none.
    // Where it is not allowed, the process stays where it is.
    void move_to(std::optional<uint32_t> processor);

  private:
    cpu_set_t any_;
};

}  // namespace plink

#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace plink::control {

/// When what has waited long is to be told: for each name that waits after each `warning_s`, and
/// from `error_s` on after each of those. An alarm about which the root does nothing, as others
/// seem to have announced the name, is thus given again before long.
class Alarms {
  public:
    Alarms(double warning_s, std::optional<double> error_s)
        : warning_s_(warning_s), error_s_(error_s) {}

    /// When something is due; infinity for never.
    double next_s();
    /// When something is due first that waits since then; infinity for infinity.
    double first_s(double since_s) const;
    /// Since when a name waits, if it does.
    std::optional<double> since_s(const std::string& name) const;
    /// It waits since then; a warning that was due before `now_s` is not given.
    void add(const std::string& name, double since_s, std::optional<double> now_s = {});
    /// It waits no more.
    void remove(const std::string& name);
    void clear();
    /// Those whose time has come, once for each time.
    std::vector<std::string> due(double now_s);

  private:
    using Due = std::tuple<double, double, std::string>;  ///< at, since, name

    double next_s(double since_s, double after_s) const;
    void plan(const std::string& name, double since_s, double after_s);

    double warning_s_;
    std::optional<double> error_s_;
    std::unordered_map<std::string, double> since_s_;
    std::priority_queue<Due, std::vector<Due>, std::greater<Due>> due_;
};

}  // namespace plink::control

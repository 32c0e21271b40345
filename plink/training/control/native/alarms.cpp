#include "alarms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plink::control {

double Alarms::next_s() {
    while (!due_.empty()) {
        const auto& [at_s, since_s, name] = due_.top();
        const auto found = since_s_.find(name);
        if (found != since_s_.end() && found->second == since_s) return at_s;
        due_.pop();
    }
    return std::numeric_limits<double>::infinity();
}

double Alarms::first_s(double since_s) const {
    return std::isinf(since_s) ? since_s : next_s(since_s, since_s);
}

std::optional<double> Alarms::since_s(const std::string& name) const {
    const auto found = since_s_.find(name);
    return found == since_s_.end() ? std::nullopt : std::optional(found->second);
}

void Alarms::add(const std::string& name, double since_s, std::optional<double> now_s) {
    since_s_[name] = since_s;
    const double warned = now_s ? std::floor((*now_s - since_s) / warning_s_ + 1e-6) : 0.0;
    plan(name, since_s, since_s + warned * warning_s_);
}

void Alarms::remove(const std::string& name) {
    since_s_.erase(name);
    if (since_s_.empty()) due_ = {};
}

void Alarms::clear() {
    since_s_.clear();
    due_ = {};
}

std::vector<std::string> Alarms::due(double now_s) {
    std::vector<std::string> names;
    while (next_s() <= now_s) {
        const auto [at_s, since_s, name] = due_.top();
        due_.pop();
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        plan(name, since_s, at_s);
    }
    return names;
}

void Alarms::plan(const std::string& name, double since_s, double after_s) {
    due_.emplace(next_s(since_s, after_s), since_s, name);
}

double Alarms::next_s(double since_s, double after_s) const {
    const double times = std::floor((after_s - since_s) / warning_s_ + 0.5) + 1.0;
    const double next = since_s + times * warning_s_;
    if (!error_s_) return next;
    const bool is_late = after_s >= since_s + *error_s_;
    return std::min(next, (is_late ? after_s : since_s) + *error_s_);
}

}  // namespace plink::control

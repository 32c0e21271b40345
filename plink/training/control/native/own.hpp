#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// What this rank itself has announced and not got.
class Own {
  public:
    /// Why these cannot be announced, for people; empty where they can.
    std::string problem(const std::vector<RequestRef>& requests) const;
    void add(const std::vector<RequestRef>& requests);
    /// It is released or refused. Returns whether this rank had announced it.
    bool forget(const std::string& name);
    /// This rank announces no more. Returns why it cannot join; empty where it does.
    std::string join();
    /// All have joined.
    void begin_anew() { has_joined_ = false; }

  private:
    std::unordered_map<std::string, RequestRef> requests_;
    std::unordered_set<std::string> tensors_;
    bool has_joined_ = false;
};

}  // namespace plink::control

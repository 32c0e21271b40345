#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "actions.hpp"
#include "request.hpp"

namespace plink::control {

/// What this rank itself has announced and not got.
class Own {
  public:
    /// These are announced, all or none. `failed`: why nothing goes on; empty where it does.
    /// Returns why they cannot be, if so.
    std::optional<RefuseHere> announce(const std::vector<RequestRef>& requests,
                                       const std::string& failed);
    /// It was announced, and known elsewhere until now.
    void keep(const RequestRef& request);
    bool has_joined() const { return has_joined_; }
    /// Whether nothing is announced.
    bool is_empty() const { return requests_.empty(); }
    /// This rank announces no more. Returns why it cannot join, if so.
    std::optional<RefuseHere> join(const std::string& failed);
    /// All have joined.
    void begin_anew() { has_joined_ = false; }
    /// It is released or refused. Returns whether this rank had announced it.
    bool forget(const std::string& name);

  private:
    std::string problem(const std::vector<RequestRef>& requests) const;

    std::unordered_map<std::string, RequestRef> requests_;
    std::unordered_set<std::string> tensors_;
    bool has_joined_ = false;
};

}  // namespace plink::control

#pragma once

#include <nanobind/nanobind.h>

#include <unordered_map>
#include <utility>

#include "actions.hpp"
#include "events.hpp"
#include "settings.hpp"

namespace plink::control {

/// What Python hands in: objects of the classes beside `tree.py`. They throw nanobind's or
/// std::invalid_argument for anything else.
Place place_of(nanobind::handle place);
Settings settings_of(nanobind::handle settings);
Event event_of(nanobind::handle event);

/// What Python gets, of the same classes. Requests come again, and are made once.
class PythonActions {
  public:
    nanobind::object of(const Action& action);

  private:
    nanobind::object of(const RequestRef& request);

    std::unordered_map<const Request*, std::pair<RequestRef, nanobind::object>> requests_;
};

}  // namespace plink::control

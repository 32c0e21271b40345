#pragma once

#include "cycles.hpp"

namespace plink::control {

/// Agreement in cycles that name everything: `plink/training/control/full.py` says how, and does
/// the same.
class Full final : public Cycles {
  public:
    Full(Place place, const Settings& settings) : Cycles(std::move(place), settings) {}

  private:
    void begin() override;
    Member member(const RequestRef& request) const override { return {0, request}; }
    std::vector<RequestRef> named(const std::vector<Member>& members) const override;
};

}  // namespace plink::control

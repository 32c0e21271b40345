#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alarms.hpp"
#include "bits.hpp"
#include "cache.hpp"
#include "cycles.hpp"
#include "growth.hpp"

namespace plink::control {

/// Agreement in cycles on positions of a cache: `plink/training/control/bitvector.py` says how, and
/// does the same.
class BitVector final : public Cycles {
  public:
    BitVector(Place place, const Settings& settings);

    /// Of the cache and of all results.
    std::uint64_t digest() const override { return Cycles::digest() ^ cache_.digest(); }

  private:
    void begin() override;
    Member member(const RequestRef& request) const override;
    std::vector<RequestRef> named(const std::vector<Member>& members) const override;
    void respond(Response& response) override;
    void learn(const Batches& batches, const Response& response) override;
    bool awaits_by_waking() const override;
    void enqueue(const QueuedRef& queued) override;
    void release(const Batches& batches) override;
    void refuse(const std::string& name, const std::string& text) override;
    bool forget(const std::string& name) override;

    void sort(const std::vector<QueuedRef>& announced);
    std::string intersect(const Values& values);
    void take_bits(std::string_view data);
    void take_common();
    void unready(const RequestRef& request);
    std::string unite(const Values& values);
    void erase(std::string_view data);
    void ask();

    Cache cache_;
    Growth growth_;
    Alarms alarms_;
    // What is ready and at which positions; what the coordinator is to be asked for.
    Bits hits_;
    Bits own_bits_;
    std::vector<QueuedRef> unseen_;
    std::vector<QueuedRef> misses_;
    std::uint64_t changes_ = 0;
    // Of this cycle.
    Bits invalid_;
    std::vector<RequestRef> common_;
};

}  // namespace plink::control

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "bits.hpp"
#include "line.hpp"
#include "settings.hpp"

namespace plink::control {

/// Who of a part of the ranks has announced what stands at which position, as bits: what all have
/// announced is the AND of them.
class Marks {
  public:
    /// Announced by a rank, and by its children, each for all below it.
    explicit Marks(const Place& place);

    /// Since when the first that is marked is; infinity where nothing is.
    double oldest_s() const;
    /// The first that is marked.
    std::uint64_t oldest() const { return line_.front(); }
    bool contains(std::uint64_t position) const { return marked_.test(position); }
    /// These are announced. Returns the first one that the source had announced already; from there
    /// on none is marked.
    std::optional<std::uint64_t> mark(std::int64_t source,
                                      const std::vector<std::uint64_t>& positions, double now_s);
    /// Whether the source could mark all of these, of which none is there twice.
    bool has_none(std::int64_t source, const std::vector<std::uint64_t>& positions) const;
    /// All that is marked may be complete, since fewer have to announce it.
    void look_again();
    /// What all of these have announced since this was last asked, ascending.
    std::vector<std::uint64_t> complete(const std::set<std::int64_t>& sources);
    /// When it first was marked.
    double since_s(std::uint64_t position) const { return since_s_[position]; }
    /// Who has announced it, ascending.
    std::vector<std::int64_t> sources(std::uint64_t position) const;
    /// Whether the source has announced it.
    bool is_said(std::int64_t source, std::uint64_t position) const {
        return said_.at(source).test(position);
    }
    /// Whether `complete` has told of it.
    bool is_passed_on(std::uint64_t position) const { return passed_on_.test(position); }
    /// Nobody has announced it.
    void forget(std::uint64_t position);
    /// Nobody has announced anything.
    void clear();

  private:
    std::map<std::int64_t, Bits> said_;
    Bits marked_;
    Bits passed_on_;
    /// Words of these bits in which something was marked since `complete` was last asked.
    Bits news_;
    std::vector<double> since_s_;
    /// In the order in which they first were marked.
    Line line_;
};

}  // namespace plink::control

#pragma once

#include <cstdint>
#include <vector>

namespace plink::engine {

/// What one worker of one rank has to do in a collective.
struct Share {
    std::vector<std::vector<std::uint32_t>> ready;  ///< by peer: chunks it is sent from the start
    std::vector<std::uint32_t> sends;               ///< by peer: frames it is sent in all
    std::vector<std::uint32_t> receives;            ///< by peer: frames that come from it
    std::uint64_t frames_out = 0;
    std::uint64_t frames_in = 0;

    explicit Share(std::size_t ranks) : ready(ranks), sends(ranks), receives(ranks) {}
    bool is_empty() const { return frames_in + frames_out == 0; }
};

}  // namespace plink::engine

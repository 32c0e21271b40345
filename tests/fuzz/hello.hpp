// The job of which all ranks in the harnesses are.
#pragma once

#include "handshake.hpp"

namespace plink::fuzz {

inline transport::Hello hello_of(std::uint32_t rank, std::uint32_t ranks, std::uint16_t workers) {
    transport::Hello hello;
    hello.rank = rank;
    hello.ranks = ranks;
    hello.workers = workers;
    hello.job.fill(0x6a);
    hello.plan = 7;
    return hello;
}

}  // namespace plink::fuzz

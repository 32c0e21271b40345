// One Ethernet port run by DPDK, with one queue each way.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "frame.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace plink {

class Port {
  public:
    // Starts DPDK with these arguments and the one port that they name, called `device` in the
    // error that it prints if it cannot.
    bool start(const std::vector<std::string>& arguments, const std::string& device);

    const Mac& mac() const { return mac_; }

    // True once the link is up; waits for `most_ms` at most.
    bool has_link(int most_ms) const;

    // Looks for frames; true if there is one to take.
    bool poll();
    // The next frame, valid until the next call; nullptr where there is none.
    const uint8_t* receive(size_t* size);
    // Sends a copy of a frame, or loses it.
    void send(const uint8_t* frame, size_t size);

  private:
    static constexpr size_t kBurst = 32;

    bool configure(const std::string& device);

    uint16_t id_ = 0;
    Mac mac_{};
    rte_mempool* pool_ = nullptr;
    rte_mbuf* taken_ = nullptr;  // what receive() showed last
    std::array<rte_mbuf*, kBurst> waiting_{};
    size_t first_waiting_ = 0;
    size_t end_of_waiting_ = 0;
};

}  // namespace plink

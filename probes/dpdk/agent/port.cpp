#include "port.hpp"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "eal.hpp"
#include "print_error.hpp"

namespace plink {
namespace {

constexpr uint16_t kDescriptors = 256;
// Beyond those that wait in the queues of the port.
constexpr unsigned kSpareBuffers = 511;
constexpr int kLinkPollMs = 50;

}  // namespace

bool Port::start(const std::vector<std::string>& arguments, const std::string& device) {
    if (!start_eal(arguments)) return false;
    id_ = static_cast<uint16_t>(rte_eth_find_next(0));
    if (rte_eth_dev_count_avail() == 0) {
        return print_error("this agent has no DPDK driver for " + device);
    }
    return configure(device);
}

bool Port::configure(const std::string& device) {
    rte_eth_conf configuration{};
    uint16_t to_receive = kDescriptors, to_send = kDescriptors;
    auto socket = static_cast<unsigned>(SOCKET_ID_ANY);
    int error = rte_eth_dev_configure(id_, 1, 1, &configuration);
    if (error == 0) error = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &to_receive, &to_send);
    if (error == 0) {
        unsigned buffers = unsigned{to_receive} + to_send + kSpareBuffers;
        pool_ = rte_pktmbuf_pool_create("plink", buffers, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                        SOCKET_ID_ANY);
        if (pool_ == nullptr) {
            return print_error("DPDK has no memory for packets: " + last_eal_message(ENOMEM));
        }
        error = rte_eth_rx_queue_setup(id_, 0, to_receive, socket, nullptr, pool_);
    }
    if (error == 0) error = rte_eth_tx_queue_setup(id_, 0, to_send, socket, nullptr);
    if (error == 0) error = rte_eth_dev_start(id_);
    rte_ether_addr address{};
    if (error == 0) error = rte_eth_macaddr_get(id_, &address);
    if (error != 0) {
        return print_error("DPDK cannot run " + device + ": " + last_eal_message(-error));
    }
    std::copy_n(address.addr_bytes, mac_.size(), mac_.begin());
    return true;
}

bool Port::has_link(int most_ms) const {
    for (int waited_ms = 0;; waited_ms += kLinkPollMs) {
        rte_eth_link link{};
        if (rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) {
            return true;
        }
        if (waited_ms >= most_ms) return false;
        usleep(kLinkPollMs * 1000);
    }
}

bool Port::poll() {
    if (first_waiting_ == end_of_waiting_) {
        first_waiting_ = 0;
        end_of_waiting_ = rte_eth_rx_burst(id_, 0, waiting_.data(), kBurst);
    }
    return first_waiting_ < end_of_waiting_;
}

const uint8_t* Port::receive(size_t* size) {
    if (taken_ != nullptr) rte_pktmbuf_free(taken_);
    taken_ = poll() ? waiting_[first_waiting_++] : nullptr;
    if (taken_ == nullptr) return nullptr;
    *size = rte_pktmbuf_data_len(taken_);
    return rte_pktmbuf_mtod(taken_, const uint8_t*);
}

void Port::send(const uint8_t* frame, size_t size) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pool_);
    if (buffer == nullptr) return;
    char* room = rte_pktmbuf_append(buffer, static_cast<uint16_t>(size));
    if (room != nullptr) std::memcpy(room, frame, size);
    if (room == nullptr || rte_eth_tx_burst(id_, 0, &buffer, 1) != 1) rte_pktmbuf_free(buffer);
}

}  // namespace plink

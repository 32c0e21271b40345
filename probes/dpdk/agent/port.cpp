#include "port.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attachment.hpp"

namespace plink {
namespace {

constexpr uint16_t kDescriptors = 256;
// Beyond those that wait in the queues of the port.
constexpr unsigned kSpareBuffers = 511;
constexpr int kLinkPollMs = 50;

std::string last_line;

ssize_t keep_last_line(void*, const char* text, size_t size) {
    std::string line(text, size);
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) last_line = line.substr(line.rfind('\n') + 1);
    return static_cast<ssize_t>(size);
}

// DPDK and its drivers report much that went well, and to the system log.
void hold_back_messages() {
    cookie_io_functions_t functions{};
    functions.write = keep_last_line;
    FILE* stream = fopencookie(nullptr, "w", functions);
    std::setvbuf(stream, nullptr, _IOLBF, 256);
    rte_openlog_stream(stream);
    rte_log_set_global_level(RTE_LOG_ERR);
}

// Standard output belongs to the coordinator: nothing that a driver prints may reach it.
class SilentOutput {
  public:
    SilentOutput() : saved_(dup(STDOUT_FILENO)) {
        std::fflush(stdout);
        dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    ~SilentOutput() {
        std::fflush(stdout);
        dup2(saved_, STDOUT_FILENO);
        close(saved_);
    }
    SilentOutput(const SilentOutput&) = delete;
    SilentOutput& operator=(const SilentOutput&) = delete;

  private:
    int saved_;
};

// DPDK makes a folder for every process that uses it, and leaves it there.
class RuntimeFolder {
  public:
    RuntimeFolder() {
        if (mkdtemp(path_.data()) != nullptr) setenv("RUNTIME_DIRECTORY", path_.c_str(), 1);
    }
    ~RuntimeFolder() {
        std::string dpdk = path_ + "/dpdk";
        rmdir((dpdk + "/" + prefix()).c_str());
        rmdir(dpdk.c_str());
        rmdir(path_.c_str());
    }
    RuntimeFolder(const RuntimeFolder&) = delete;
    RuntimeFolder& operator=(const RuntimeFolder&) = delete;

    static std::string prefix() { return "plink-" + std::to_string(getpid()); }

  private:
    std::string path_ = "/tmp/" + prefix() + "-XXXXXX";
};

// One logical core for DPDK, which may run on any processor that this process may use.
std::string logical_core() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::string processors;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &set)) continue;
        processors += (processors.empty() ? "" : ",") + std::to_string(i);
    }
    return "0@(" + processors + ")";
}

// The last message of DPDK about an error, or the text of its number if there was none.
std::string last_eal_message(int error) {
    return last_line.empty() ? std::string(rte_strerror(error)) : last_line;
}

// Starts DPDK's Environment Abstraction Layer on the processors that this process may use; this
// thread may still use them all. Prints why and returns false if it cannot. Leaves nothing on disk.
bool start_eal(const std::vector<std::string>& arguments) {
    hold_back_messages();
    std::vector<std::string> all{"plink-dpdk-agent", "--no-telemetry",
                                 "--file-prefix=" + RuntimeFolder::prefix(),
                                 "--lcores=" + logical_core(), "--log-level=*:error"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    int started = -1;
    {
        RuntimeFolder folder;
        SilentOutput silent;
        started = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    }
    if (started < 0) return print_error("DPDK does not start: " + last_eal_message(rte_errno));
    std::atexit([] { rte_eal_cleanup(); });
    return true;
}

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

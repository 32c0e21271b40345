#include <dirent.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "attachment.hpp"
#include "port.hpp"

namespace plink {
namespace {

// The first port that is for any use (RFC 6335): nobody else has this address.
constexpr uint16_t kPort = 49152;
constexpr int kLinkWithinMs = 5000;

Ipv4 ipv4_of(const Endpoint& endpoint) {
    Ipv4 address{};
    std::memcpy(&address, endpoint.bytes(), address.size());
    return address;
}

uint32_t number_of(const Ipv4& address) {
    uint32_t number = 0;
    for (uint8_t byte : address) number = number << 8 | byte;
    return number;
}

constexpr const char* kHugePages = "/sys/kernel/mm/hugepages";
// The drivers that leave a device to a program.
constexpr const char* kHandsOff[] = {"vfio-pci", "uio_pci_generic", "igb_uio"};

long number_in(const std::string& path) {
    long number = 0;
    FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%ld", &number) != 1) number = 0;
    std::fclose(file);
    return number;
}

bool has_free_huge_pages() {
    DIR* sizes = opendir(kHugePages);
    if (sizes == nullptr) return false;
    long free = 0;
    while (const dirent* size = readdir(sizes)) {
        free += number_in(std::string(kHugePages) + "/" + size->d_name + "/free_hugepages");
    }
    closedir(sizes);
    return free > 0;
}

// The name of the driver that has the device, or nothing.
std::string driver_of(const std::string& device_folder) {
    char target[256];
    ssize_t size = readlink((device_folder + "/driver").c_str(), target, sizeof target);
    if (size <= 0) return "";
    std::string path(target, static_cast<size_t>(size));
    return path.substr(path.rfind('/') + 1);
}

// Returns whether a text has the form domain:bus:device.function.
bool is_pci_address(const std::string& text) {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    char more = 0;
    return std::sscanf(text.c_str(), "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function,
                       &more) == 4;
}

// Prints why and returns false if there is no such PCI device, the kernel uses it, or there are no
// huge pages.
bool check_pci_device(const std::string& address) {
    std::string folder = "/sys/bus/pci/devices/" + address;
    if (access(folder.c_str(), F_OK) != 0) return print_error("has no PCI device " + address);
    std::string driver = driver_of(folder);
    std::string bind = "bind it to vfio-pci (dpdk-devbind.py --bind=vfio-pci " + address + ")";
    if (driver.empty()) return print_error("PCI device " + address + " has no driver: " + bind);
    bool is_ours = false;
    for (const char* known : kHandsOff) is_ours = is_ours || driver == known;
    if (!is_ours) {
        return print_error("PCI device " + address + " is in use by the kernel's driver " + driver +
                           ": " + bind);
    }
    return has_free_huge_pages() ||
           print_error(
               "has no free huge pages, which a NIC of its own needs: as root, "
               "echo 64 > /proc/sys/vm/nr_hugepages");
}

class OwnedNic : public Attachment {
  public:
    explicit OwnedNic(const OwnedDevice& device) : device_(device) {}

    bool prepare(const Endpoint& wanted, Endpoint* bound,
                 std::vector<std::string>* arguments) override;
    bool attach(Port* port, uint16_t udp_port) override;
    bool next_hop(const Endpoint& to, Mac* mac) override;
    void take(const uint8_t* frame, size_t size) override;

  private:
    struct Known {
        Mac mac{};
        bool is_known = false;
    };

    bool is_on_link(const Ipv4& address) const;

    OwnedDevice device_;
    Ipv4 address_{};
    Port* port_ = nullptr;
    std::map<Ipv4, Known> known_;  // the next hops that were asked for
};

bool OwnedNic::prepare(const Endpoint& wanted, Endpoint* bound,
                       std::vector<std::string>* arguments) {
    if (wanted.family() != AF_INET) {
        return print_error("a NIC of the agent's own works with IPv4 addresses only");
    }
    address_ = ipv4_of(wanted);
    *bound = Endpoint::of(AF_INET, wanted.bytes(), wanted.port() == 0 ? kPort : wanted.port());
    if (!is_pci_address(device_.device)) {
        *arguments = {"--no-huge", "--no-pci", "--no-shconf",
                      "-m",        "32",       "--vdev=" + device_.device};
        return true;
    }
    *arguments = {"--in-memory", "-a", device_.device};
    return check_pci_device(device_.device);
}

bool OwnedNic::attach(Port* port, uint16_t) {
    port_ = port;
    return port->has_link(kLinkWithinMs) ||
           print_error("the link of " + device_.device + " is down");
}

bool OwnedNic::is_on_link(const Ipv4& address) const {
    uint32_t length = device_.prefix_length;
    uint32_t mask = length == 0 ? 0 : ~uint32_t{0} << (32 - length);
    return ((number_of(address) ^ number_of(address_)) & mask) == 0;
}

bool OwnedNic::next_hop(const Endpoint& to, Mac* mac) {
    Ipv4 hop = ipv4_of(to);
    if (!is_on_link(hop)) {
        if (!device_.has_gateway) return false;
        hop = device_.gateway;
    }
    const Known& known = known_[hop];
    if (!known.is_known) {
        uint8_t frame[kArpFrame];
        write_arp(frame, {true, port_->mac(), address_, Mac{}, hop});
        port_->send(frame, sizeof frame);
        return false;
    }
    *mac = known.mac;
    return true;
}

void OwnedNic::take(const uint8_t* frame, size_t size) {
    Arp arp;
    if (!read_arp(frame, size, &arp)) return;
    // Only whom we asked for: else anybody could fill the table.
    auto known = known_.find(arp.sender);
    if (known != known_.end()) known->second = {arp.sender_mac, true};
    if (!arp.is_request || arp.target != address_) return;
    uint8_t reply[kArpFrame];
    write_arp(reply, {false, port_->mac(), address_, arp.sender_mac, arp.sender});
    port_->send(reply, sizeof reply);
}

}  // namespace

std::unique_ptr<Attachment> attach_by_owned_nic(const OwnedDevice& device) {
    return std::make_unique<OwnedNic>(device);
}

}  // namespace plink

#include "pci.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "print_error.hpp"

namespace plink {
namespace {

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

}  // namespace

bool is_pci_address(const std::string& text) {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    char more = 0;
    return std::sscanf(text.c_str(), "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function,
                       &more) == 4;
}

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

}  // namespace plink

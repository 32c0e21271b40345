// Whether a PCI device can be given to DPDK.
#pragma once

#include <string>

namespace plink {

// It has the form domain:bus:device.function.
bool is_pci_address(const std::string& text);

// Prints why and returns false if there is no such device, the kernel uses it, or there are no huge
// pages.
bool check_pci_device(const std::string& address);

}  // namespace plink

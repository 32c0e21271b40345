// Starting DPDK's Environment Abstraction Layer with its messages held back.
#pragma once

#include <string>
#include <vector>

namespace plink {

// Starts it on the processors that this process may use; this thread may still use them all.
// Prints why and returns false if it cannot. Nothing of it is left on disk.
bool start_eal(const std::vector<std::string>& arguments);

// What DPDK last said of an error, and its own number for one where it said nothing.
std::string last_eal_message(int error);

}  // namespace plink

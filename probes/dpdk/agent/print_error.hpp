// Why the agent cannot work, on standard error: the coordinator shows its last line to the user.
#pragma once

#include <cstdio>
#include <string>

namespace plink {

// Writes one line to standard error. Returns false, for the caller to return.
inline bool print_error(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    return false;
}

}  // namespace plink

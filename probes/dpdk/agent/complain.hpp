// The agent's last word where it cannot work: the coordinator shows it to the user.
#pragma once

#include <cstdio>
#include <string>

namespace plink {

// Writes one line to standard error. Returns false, for the caller to return.
inline bool complain(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    return false;
}

}  // namespace plink

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "machine.hpp"
#include "settings.hpp"

namespace plink::control::test {

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: seed %u: %s\n", __FILE__, __LINE__, seed_of_now, \
                         #condition);                                                     \
            std::abort();                                                                 \
        }                                                                                 \
    } while (false)

/// That of the program that runs.
extern unsigned seed_of_now;

using Random = std::mt19937;

int between(Random& random, int least, int most);
/// One tensor, to be summed.
RequestRef request(const std::string& name, std::int64_t items);
std::vector<Place> random_tree(Random& random, int ranks);
/// Of a mode that the seed chooses.
std::unique_ptr<Machine> machine_of(unsigned seed, const Place& place, const Settings& settings);

/// Ranks in threads, each with a driver: all release the same, and whoever waits hears the end.
void drive(unsigned seed);

}  // namespace plink::control::test

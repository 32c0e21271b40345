// Answers questions about the agent's rule of early stopping, a line each, for the tests:
//   looks COUNT                     the numbers of probes
//   width PERCENTILE LOOKS NS ...   parts per million
#include <iostream>
#include <sstream>
#include <string>

#include "precision.hpp"

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "looks") {
            uint32_t count = 0;
            words >> count;
            for (uint32_t look : plink::looks_until(count)) std::cout << look << ' ';
        } else {
            double percentile = 0.0;
            size_t looks = 0;
            words >> percentile >> looks;
            std::vector<uint32_t> samples_ns;
            for (uint32_t sample = 0; words >> sample;) samples_ns.push_back(sample);
            std::cout << plink::half_width_ppm(samples_ns, percentile, looks);
        }
        std::cout << std::endl;
    }
}

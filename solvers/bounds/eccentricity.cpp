#include "bounds/eccentricity.hpp"

#include <limits>

namespace plink::bounds {

std::vector<double> eccentricities(const ring::Matrix& distance, int count, limits::Watch& watch) {
    const int hosts = distance.size();
    std::vector<double> found(hosts);
    std::vector<double> length;
    std::vector<int> waiting;
    for (int root = 0; root < hosts; ++root) {
        watch.throw_if_over();
        length.assign(hosts, std::numeric_limits<double>::infinity());
        length[root] = 0.0;
        waiting.clear();
        for (int host = 0; host < hosts; ++host) waiting.push_back(host);
        for (int reached = 0; reached < count; ++reached) {
            std::size_t nearest = 0;
            for (std::size_t place = 1; place < waiting.size(); ++place) {
                if (length[waiting[place]] < length[waiting[nearest]]) nearest = place;
            }
            const int host = waiting[nearest];
            waiting[nearest] = waiting.back();
            waiting.pop_back();
            found[root] = length[host];
            const double* row = distance.row(host);
            for (const int other : waiting) {
                length[other] = std::min(length[other], length[host] + row[other]);
            }
        }
    }
    return found;
}

}  // namespace plink::bounds

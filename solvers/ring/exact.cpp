#include "ring/exact.hpp"

#include <limits>
#include <numeric>

namespace plink::ring {

std::vector<int> cheapest_ring(const Matrix& distance) {
    const int n = distance.size();
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    if (n <= 3) return order;

    // cost[set][end]: the cheapest path from city 0 through the cities of `set` to `end` in it.
    const int others = n - 1;
    const int sets = 1 << others;
    std::vector<double> cost(static_cast<std::size_t>(sets) * others,
                             std::numeric_limits<double>::infinity());
    std::vector<int> previous(cost.size(), -1);
    const auto at = [others](int set, int end) {
        return static_cast<std::size_t>(set) * others + end;
    };
    for (int end = 0; end < others; ++end) cost[at(1 << end, end)] = distance(0, end + 1);
    for (int set = 1; set < sets; ++set) {
        for (int end = 0; end < others; ++end) {
            if (!(set >> end & 1)) continue;
            for (int then = 0; then < others; ++then) {
                if (set >> then & 1) continue;
                const double longer = cost[at(set, end)] + distance(end + 1, then + 1);
                const std::size_t target = at(set | 1 << then, then);
                if (longer < cost[target]) {
                    cost[target] = longer;
                    previous[target] = end;
                }
            }
        }
    }

    int set = sets - 1;
    int end = 0;
    for (int last = 1; last < others; ++last) {
        if (cost[at(set, last)] + distance(last + 1, 0) <
            cost[at(set, end)] + distance(end + 1, 0)) {
            end = last;
        }
    }
    for (int i = n - 1; i > 0; --i) {
        order[i] = end + 1;
        const int before = previous[at(set, end)];
        set ^= 1 << end;
        end = before;
    }
    return order;
}

}  // namespace plink::ring

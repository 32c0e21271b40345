#include "native_ranks.hpp"

#include <algorithm>

#include "bitvector.hpp"
#include "full.hpp"
#include "tree.hpp"

namespace plink::control::test {

unsigned seed_of_now = 0;

int between(Random& random, int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}

RequestRef request(const std::string& name, std::int64_t items) {
    auto made = std::make_shared<Request>();
    made->name = name;
    made->tensors = {{0, {items}}};
    made->kind = kAllReduce;
    made->op = "sum";
    made->device = "cpu";
    return made;
}

std::vector<Place> random_tree(Random& random, int ranks) {
    std::vector<int> order(ranks);
    for (int rank = 0; rank < ranks; ++rank) order[rank] = rank;
    std::shuffle(order.begin(), order.end(), random);
    const int width = between(random, 1, 8);
    std::vector<Place> places(ranks);
    std::vector<Ranks> below(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
        places[rank].rank = rank;
        places[rank].ranks = ranks;
        below[rank] = Ranks::of(rank);
    }
    for (int i = 1; i < ranks; ++i) {
        places[order[i]].parent = order[between(random, std::max(0, i - width), i - 1)];
    }
    for (int i = ranks - 1; i > 0; --i) {
        Place& parent = places[*places[order[i]].parent];
        parent.children.emplace_back(order[i], below[order[i]]);
        below[parent.rank] |= below[order[i]];
    }
    return places;
}

std::unique_ptr<Machine> machine_of(unsigned seed, const Place& place, const Settings& settings) {
    if (seed % 3 == 1) return std::make_unique<Full>(place, settings);
    if (seed % 3 == 2) return std::make_unique<BitVector>(place, settings);
    return std::make_unique<Tree>(place, settings);
}

}  // namespace plink::control::test

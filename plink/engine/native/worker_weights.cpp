#include "worker_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace plink::engine {

namespace {

using Chunks = std::vector<std::uint32_t>;

// Of pieces before the turns begin again.
constexpr std::size_t kTurns = 64;

WorkerWeights normalised(WorkerWeights weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    return weights;
}

/// `chunks` by largest remainder. `owed`, by worker: what earlier roundings left it short of.
Chunks rounded(const WorkerWeights& parts, std::size_t chunks, std::vector<double>& owed) {
    std::vector<double> wanted(parts.size());
    Chunks share(parts.size());
    std::size_t dealt = 0;
    for (std::size_t worker = 0; worker < parts.size(); ++worker) {
        wanted[worker] = parts[worker] * static_cast<double>(chunks) + owed[worker];
        share[worker] = static_cast<std::uint32_t>(
            std::clamp(std::floor(wanted[worker]), 0.0, static_cast<double>(chunks - dealt)));
        dealt += share[worker];
    }
    for (; dealt < chunks; ++dealt) {
        std::size_t shortest = 0;
        for (std::size_t worker = 1; worker < parts.size(); ++worker) {
            if (wanted[worker] - share[worker] > wanted[shortest] - share[shortest]) {
                shortest = worker;
            }
        }
        ++share[shortest];
    }
    for (std::size_t worker = 0; worker < parts.size(); ++worker) {
        owed[worker] = wanted[worker] - share[worker];
    }
    return share;
}

/// The workers of a route's chunks, in the order of the chunks.
std::vector<std::uint16_t> in_turn(const Chunks& share) {
    struct Turn {
        double at;
        std::uint16_t worker;
    };
    std::vector<Turn> turns;
    for (std::size_t worker = 0; worker < share.size(); ++worker) {
        for (std::uint32_t i = 0; i < share[worker]; ++i) {
            turns.push_back({(i + 0.5) / share[worker], static_cast<std::uint16_t>(worker)});
        }
    }
    std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
        return a.at != b.at ? a.at < b.at : a.worker < b.worker;
    });
    std::vector<std::uint16_t> workers;
    for (const Turn& turn : turns) workers.push_back(turn.worker);
    return workers;
}

}  // namespace

void check_weights(const WorkerWeights& weights, int workers) {
    if (weights.empty()) return;
    if (weights.size() != static_cast<std::size_t>(workers)) {
        throw std::invalid_argument("there are " + std::to_string(workers) + " workers, not " +
                                    std::to_string(weights.size()));
    }
    double sum = 0.0;
    for (const double weight : weights) {
        if (!(weight >= 0.0)) throw std::invalid_argument("a worker's weight is negative");
        sum += weight;
    }
    if (!(sum > 0.0) || !std::isfinite(sum)) {
        throw std::invalid_argument("the weights of the workers have no positive, finite sum");
    }
}

int heaviest(const WorkerWeights& weights) {
    return static_cast<int>(std::max_element(weights.begin(), weights.end()) - weights.begin());
}

std::vector<std::uint16_t> worker_turns(const WorkerWeights& weights, int workers) {
    if (weights.empty()) {
        std::vector<std::uint16_t> turns(workers);
        std::iota(turns.begin(), turns.end(), std::uint16_t{0});
        return turns;
    }
    std::vector<double> owed(weights.size());
    return in_turn(rounded(normalised(weights), kTurns, owed));
}

void deal_by_weight(Deal& deal, const WorkerWeights& weights) {
    if (weights.empty() || deal.chunks() == 0) return;
    const auto is_first = [&deal](std::uint16_t worker) { return worker == deal.worker[0]; };
    if (std::all_of(deal.worker.begin(), deal.worker.end(), is_first)) {
        std::fill(deal.worker.begin(), deal.worker.end(),
                  static_cast<std::uint16_t>(heaviest(weights)));
        return;
    }
    const WorkerWeights parts = normalised(weights);
    const std::uint32_t routes = 1 + *std::max_element(deal.route.begin(), deal.route.end());
    Chunks of_route(routes);
    for (const std::uint32_t route : deal.route) ++of_route[route];
    std::vector<std::vector<std::uint16_t>> workers;
    std::vector<double> owed(parts.size());
    for (const std::uint32_t chunks : of_route) {
        workers.push_back(in_turn(rounded(parts, chunks, owed)));
    }
    Chunks next(routes);
    for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
        const std::uint32_t route = deal.route[chunk];
        deal.worker[chunk] = workers[route][next[route]++];
    }
}

}  // namespace plink::engine

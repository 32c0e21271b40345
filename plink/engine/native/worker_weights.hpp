#pragma once

#include <cstdint>
#include <vector>

#include "deal.hpp"

namespace plink::engine {

/// How much of every buffer each worker carries, in proportion; empty for equal parts. The same on
/// every rank.
using WorkerWeights = std::vector<double>;

/// Throws std::invalid_argument where these are no weights of so many workers.
void check_weights(const WorkerWeights& weights, int workers);

/// The worker that carries what is too small to be shared.
int heaviest(const WorkerWeights& weights);

/// The workers of pieces that follow each other, evenly spread; then it begins again.
std::vector<std::uint16_t> worker_turns(const WorkerWeights& weights, int workers);

/// Gives the chunks to the workers anew. Each gets its share of every route's chunks, to a chunk,
/// and of all chunks, to a chunk of each route's rounding, evenly spread from first to last. What
/// one worker carries as a whole goes to the one of the largest weight.
void deal_by_weight(Deal& deal, const WorkerWeights& weights);

}  // namespace plink::engine

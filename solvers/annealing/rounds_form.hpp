#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ring/matrix.hpp"

namespace plink::annealing {

using ring::Matrix;

/// What the cost of rounds sums: by round a weight and pairs of ranks.
class Rounds {
  public:
    using Edges = std::vector<std::pair<int, int>>;

    Rounds(int ranks, std::vector<Edges> rounds, std::vector<double> weights)
        : ranks_(ranks), rounds_(std::move(rounds)), weights_(std::move(weights)) {}

    int ranks() const { return ranks_; }
    int size() const { return static_cast<int>(rounds_.size()); }
    const Edges& edges(int round) const { return rounds_[round]; }
    double weight(int round) const { return weights_[round]; }

    /// Sum over rounds of weight times the greatest distance (Luo 2020, §5.2.1).
    double cost(const Matrix& distance, const std::vector<int>& order) const {
        double sum = 0.0;
        for (int round = 0; round < size(); ++round) {
            double greatest = 0.0;
            for (const auto& [a, b] : rounds_[round]) {
                greatest = std::max(greatest, distance(order[a], order[b]));
            }
            sum += weights_[round] * greatest;
        }
        return sum;
    }

  private:
    int ranks_;
    std::vector<Edges> rounds_;
    std::vector<double> weights_;
};

/// Rounds with the messages of every rank.
class RoundsForm : public Rounds {
  public:
    /// One message of a rank: in which round, with whom, and its place among the round's edges.
    struct Message {
        int round, partner, edge;
    };

    explicit RoundsForm(Rounds rounds) : Rounds(std::move(rounds)), first_(ranks() + 1) {
        for (int round = 0; round < size(); ++round) {
            for (const auto& [a, b] : edges(round)) {
                ++first_[a + 1];
                ++first_[b + 1];
            }
        }
        for (int rank = 0; rank < ranks(); ++rank) first_[rank + 1] += first_[rank];
        messages_.resize(first_[ranks()]);
        std::vector<int> next = first_;
        for (int round = 0; round < size(); ++round) {
            for (int edge = 0; edge < static_cast<int>(edges(round).size()); ++edge) {
                const auto [a, b] = edges(round)[edge];
                messages_[next[a]++] = {round, b, edge};
                messages_[next[b]++] = {round, a, edge};
            }
        }
    }

    const Message* begin(int rank) const { return messages_.data() + first_[rank]; }
    const Message* end(int rank) const { return messages_.data() + first_[rank + 1]; }

  private:
    std::vector<int> first_;
    std::vector<Message> messages_;
};

}  // namespace plink::annealing

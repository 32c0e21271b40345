/* Simulated annealing of an order of hosts, as somebody would write it down in an afternoon: swaps
 * of two random ranks, what they change of the cost, Metropolis' rule, and a temperature that falls
 * geometrically from what random swaps change to a thousandth of it. The cheapest of some runs from
 * random orders.
 *
 * usage: plain_annealer SEED RUNS SECONDS MOVES < PROBLEM
 *
 * Each run ends after SECONDS of processor time or MOVES moves (0: no limit). PROBLEM is numbers:
 *   N, N x N distances, 0, rounds; of each: weight, pairs, then the pairs of ranks
 *   N, N x N distances, 1, trees; of each: N parents (-1: the root, -2: in no tree)
 * It prints the least cost, the moves of all runs, and the order that costs so much.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 1000, MOVES_PER_LOOK = 256 };
static const double COOLED = 1e-3;

static int ranks, parts, is_trees;
static double* distance;
static int* order;

/* Rounds: of each its weight, its pairs and the greatest distance of these. Of each rank and round
 * a list of its partners. */
static double *weight, *greatest, *before;
static int *pair_count, **pairs, **partners, *partner_count;

/* Trees: of each its parents, its children rank by rank, and the ranks from the leaves up. */
static int *parent, *first_child, *child, *upwards, *upward_count;
static double* height;

static uint64_t state;

static uint64_t next_random(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(int count) { return (int)(((next_random() >> 32) * (uint64_t)count) >> 32); }

static double evenly(void) { return (double)((next_random() >> 11) + 1) * 0x1p-53; }

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* room(size_t count, size_t size) {
    void* memory = calloc(count ? count : 1, size);
    if (!memory) exit(1);
    return memory;
}

static double number(void) {
    double value;
    if (scanf("%lf", &value) != 1) exit(2);
    return value;
}

static double between(int a, int b) { return distance[(size_t)order[a] * ranks + order[b]]; }

/* Rounds. */

static void read_rounds(void) {
    weight = room(parts, sizeof(double));
    greatest = room(parts, sizeof(double));
    before = room(parts, sizeof(double));
    pair_count = room(parts, sizeof(int));
    pairs = room(parts, sizeof(int*));
    partner_count = room((size_t)parts * ranks, sizeof(int));
    partners = room((size_t)parts * ranks, sizeof(int*));
    for (int round = 0; round < parts; ++round) {
        weight[round] = number();
        pair_count[round] = (int)number();
        pairs[round] = room(2 * (size_t)pair_count[round], sizeof(int));
        int* count = partner_count + (size_t)round * ranks;
        for (int i = 0; i < 2 * pair_count[round]; ++i) {
            pairs[round][i] = (int)number();
            ++count[pairs[round][i]];
        }
        int** of_rank = partners + (size_t)round * ranks;
        for (int rank = 0; rank < ranks; ++rank) {
            of_rank[rank] = room(count[rank], sizeof(int));
            count[rank] = 0;
        }
        for (int i = 0; i < pair_count[round]; ++i) {
            const int a = pairs[round][2 * i], b = pairs[round][2 * i + 1];
            of_rank[a][count[a]++] = b;
            of_rank[b][count[b]++] = a;
        }
    }
}

static double greatest_of(int round) {
    double found = 0.0;
    for (int i = 0; i < pair_count[round]; ++i) {
        const double one = between(pairs[round][2 * i], pairs[round][2 * i + 1]);
        if (one > found) found = one;
    }
    return found;
}

static double greatest_at(int round, int rank) {
    const int count = partner_count[(size_t)round * ranks + rank];
    const int* with = partners[(size_t)round * ranks + rank];
    double found = 0.0;
    for (int i = 0; i < count; ++i) {
        const double one = between(rank, with[i]);
        if (one > found) found = one;
    }
    return found;
}

static double cost_of_rounds(void) {
    double sum = 0.0;
    for (int round = 0; round < parts; ++round) {
        greatest[round] = greatest_of(round);
        sum += weight[round] * greatest[round];
    }
    return sum;
}

/* The order has changed; what the ranks' pairs cost in each round was told before. */
static double changed_rounds(int a, int b, const double* was) {
    double change = 0.0;
    for (int round = 0; round < parts; ++round) {
        const double at_a = greatest_at(round, a), at_b = greatest_at(round, b);
        const double now = at_a > at_b ? at_a : at_b;
        before[round] = greatest[round];
        if (now >= greatest[round]) {
            greatest[round] = now;
        } else if (was[round] == greatest[round]) {
            greatest[round] = greatest_of(round);
        }
        change += weight[round] * (greatest[round] - before[round]);
    }
    return change;
}

/* Trees. */

static void read_trees(void) {
    const size_t all = (size_t)parts * ranks;
    parent = room(all, sizeof(int));
    first_child = room(all + parts, sizeof(int));
    child = room(all, sizeof(int));
    upwards = room(all, sizeof(int));
    upward_count = room(parts, sizeof(int));
    height = room(all, sizeof(double));
    for (int tree = 0; tree < parts; ++tree) {
        int *above = parent + (size_t)tree * ranks, *up = upwards + (size_t)tree * ranks;
        int *first = first_child + (size_t)tree * (ranks + 1),
            *under = child + (size_t)tree * ranks;
        int filled = 0;
        for (int rank = 0; rank < ranks; ++rank) above[rank] = (int)number();
        for (int rank = 0; rank < ranks; ++rank) {
            first[rank] = filled;
            for (int other = 0; other < ranks; ++other) {
                if (above[other] == rank) under[filled++] = other;
            }
        }
        first[ranks] = filled;
        /* From the root down, then turned round. */
        int count = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            if (above[rank] == -1) up[count++] = rank;
        }
        for (int i = 0; i < count; ++i) {
            for (int j = first[up[i]]; j < first[up[i] + 1]; ++j) up[count++] = under[j];
        }
        for (int i = 0; i < count / 2; ++i) {
            const int other = up[i];
            up[i] = up[count - 1 - i];
            up[count - 1 - i] = other;
        }
        upward_count[tree] = count;
    }
}

static double cost_of_trees(void) {
    double cost = 0.0;
    for (int tree = 0; tree < parts; ++tree) {
        const int *up = upwards + (size_t)tree * ranks, *under = child + (size_t)tree * ranks;
        const int* first = first_child + (size_t)tree * (ranks + 1);
        double* of_rank = height + (size_t)tree * ranks;
        for (int i = 0; i < upward_count[tree]; ++i) {
            double found = 0.0;
            for (int j = first[up[i]]; j < first[up[i] + 1]; ++j) {
                const double one = between(up[i], under[j]) + of_rank[under[j]];
                if (one > found) found = one;
            }
            of_rank[up[i]] = found;
        }
        const double root = of_rank[up[upward_count[tree] - 1]];
        if (root > cost) cost = root;
    }
    return cost;
}

/* Either. */

static double cost_of_all(void) { return is_trees ? cost_of_trees() : cost_of_rounds(); }

static void swap(int a, int b) {
    const int host = order[a];
    order[a] = order[b];
    order[b] = host;
}

/* Swaps two ranks; returns how much dearer the order is. */
static double changed_by(int a, int b, double cost, double* was) {
    if (is_trees) {
        swap(a, b);
        return cost_of_trees() - cost;
    }
    for (int round = 0; round < parts; ++round) {
        const double at_a = greatest_at(round, a), at_b = greatest_at(round, b);
        was[round] = at_a > at_b ? at_a : at_b;
    }
    swap(a, b);
    return changed_rounds(a, b, was);
}

static void undo(int a, int b) {
    swap(a, b);
    if (!is_trees) memcpy(greatest, before, (size_t)parts * sizeof(double));
}

/* One run; its best order is in `best`. */
static double run(double limit_s, long most, int* best, long* tried) {
    double* was = room(parts, sizeof(double));
    for (int rank = ranks - 1; rank > 0; --rank) swap(rank, below(rank + 1));
    double cost = cost_of_all(), least = cost, hot = 0.0;
    memcpy(best, order, (size_t)ranks * sizeof(int));
    const double begin = seconds();
    for (int sample = 0; sample < SAMPLES; ++sample) {
        const int a = below(ranks), b = below(ranks);
        hot += fabs(changed_by(a, b, cost, was)) / SAMPLES;
        undo(a, b);
    }
    if (hot <= 0.0) hot = 1.0;
    double temperature = hot;
    for (long move = 0; most == 0 || move < most; ++move, ++*tried) {
        if (move % MOVES_PER_LOOK == 0) {
            const double by_time = limit_s > 0.0 ? (seconds() - begin) / limit_s : 0.0;
            const double by_moves = most > 0 ? (double)move / (double)most : 0.0;
            const double progress = by_time > by_moves ? by_time : by_moves;
            if (progress >= 1.0) break;
            temperature = hot * pow(COOLED, progress);
        }
        const int a = below(ranks), b = below(ranks);
        const double change = changed_by(a, b, cost, was);
        if (change > 0.0 && evenly() >= exp(-change / temperature)) {
            undo(a, b);
            continue;
        }
        cost += change;
        if (cost < least) {
            least = cost;
            memcpy(best, order, (size_t)ranks * sizeof(int));
        }
    }
    free(was);
    memcpy(order, best, (size_t)ranks * sizeof(int));
    return cost_of_all();
}

int main(int count, char** words) {
    if (count != 5) return 2;
    state = strtoull(words[1], NULL, 10);
    const long runs = atol(words[2]), most = atol(words[4]);
    const double limit_s = atof(words[3]);
    if (limit_s <= 0.0 && most <= 0) return 2;
    ranks = (int)number();
    distance = room((size_t)ranks * ranks, sizeof(double));
    for (size_t i = 0; i < (size_t)ranks * ranks; ++i) distance[i] = number();
    is_trees = (int)number();
    parts = (int)number();
    order = room(ranks, sizeof(int));
    for (int rank = 0; rank < ranks; ++rank) order[rank] = rank;
    if (is_trees)
        read_trees();
    else
        read_rounds();
    int *best = room(ranks, sizeof(int)), *cheapest = room(ranks, sizeof(int));
    double least = INFINITY;
    long tried = 0;
    for (long i = 0; i < runs; ++i) {
        const double cost = run(limit_s, most, best, &tried);
        if (cost < least) {
            least = cost;
            memcpy(cheapest, best, (size_t)ranks * sizeof(int));
        }
    }
    printf("%.17g %ld", least, tried);
    for (int rank = 0; rank < ranks; ++rank) printf(" %d", cheapest[rank]);
    printf("\n");
    return 0;
}

#include "remat_offload/pofo_program.hpp"

#include <algorithm>
#include <utility>

#include "remat_offload/search.hpp"

namespace jettison {
namespace {

// Turns the parts of the forward phase into operations, and times them exactly.
template <typename Table>
class Assembly {
public:
    Assembly(const OffloadContext& context, Table& table) : context_(context), table_(table) {}

    void run(const std::vector<Part>& parts, OffloadAnswer& answer) {
        const OffloadChain& chain = context_.chain;
        std::int64_t a = 0, df = 0, db = 0;
        std::vector<std::vector<Step>> backwards;
        answer.time = 0;
        for (const Part& part : parts) {
            const std::int32_t i = part.first;
            const std::int64_t input =
                part.input_saved ? chain.saved[at(i - 1)] : chain.output[at(i - 1)];
            const std::int64_t av = chain.memory - a - input;
            std::int64_t forward = chain.forward[at(i)];
            std::int64_t backward = chain.backward[at(i)];
            std::int64_t room = av - chain.saved[at(i)] - chain.forward_overhead[at(i)];
            if (part.last == 0) {
                answer.steps.push_back({Operation::forward_all, i});
                backwards.push_back({{Operation::backward, i}});
                backward += positive(db - (av - chain.backward_need[at(i)]));
            } else {
                pass(answer.steps, i, part.last);
                backwards.emplace_back();
                backward = build(i, part.last, av, db, backwards.back());
                forward = context_.runs.time(i, part.last);
                room = av - context_.runs.early(i, part.last);
            }
            forward += positive(df - room);
            answer.time += forward + backward;
            df = positive(df + (part.offloaded ? input : 0) - forward);
            db = positive(db - backward);
            if (part.offloaded) {
                db += input;
                answer.offloaded.push_back({i - 1, part.input_saved});
            } else {
                a += input;
            }
        }
        answer.time += df + db;
        for (auto part = backwards.rbegin(); part != backwards.rend(); ++part) {
            answer.steps.insert(answer.steps.end(), part->begin(), part->end());
        }
    }

private:
    static void pass(std::vector<Step>& steps, std::int32_t first, std::int32_t last) {
        steps.push_back({Operation::forward_checkpoint, first});
        for (std::int32_t k = first + 1; k <= last; ++k) {
            steps.push_back({Operation::forward_none, k});
        }
    }

    // Appends the operations of C(i, j, M - av, d) and returns their time, idle time included.
    std::int64_t build(std::int32_t i, std::int32_t j, std::int64_t av, std::int64_t d,
                       std::vector<Step>& steps) {
        const OffloadChain& chain = context_.chain;
        const auto choice = table_.choice(i, j, av, d);
        if (choice.last == 0) {
            const std::int64_t room = av - chain.backward_need[at(i)];
            const std::int64_t left = positive(std::min(d, room) - chain.backward[at(i)]);
            steps.push_back({Operation::forward_all, i});
            const std::int64_t inner =
                i < j ? build(i + 1, j, av - chain.saved[at(i)], left, steps) : 0;
            steps.push_back({Operation::backward, i});
            return chain.forward[at(i)] + chain.backward[at(i)] + positive(d - room) +
                   std::max(inner, left - (av - chain.output[at(j)] - chain.saved[at(i)] -
                                           chain.forward_overhead[at(i)]));
        }
        const std::int32_t k = choice.last;
        std::vector<Step> lower_steps;
        const std::int64_t lower = build(i, k, av, d, lower_steps);
        pass(steps, i, k);
        const std::int64_t upper =
            build(k + 1, j, av - chain.output[at(k)], positive(d - lower), steps);
        steps.insert(steps.end(), lower_steps.begin(), lower_steps.end());
        const std::int64_t room = av - chain.output[at(j)] - context_.runs.late(i, k);
        return context_.runs.time(i, k) + std::max(lower + upper, d - room);
    }

    OffloadContext context_;
    Table& table_;
};

// Labels of the first search, whose schedule gives the limit for the later ones.
constexpr std::size_t first_labels = 16;

// Searches with few labels, then with many. The floor is that of the table.
template <typename Table>
OffloadAnswer find_schedule(const OffloadContext& context, const OffloadProgram& program,
                            Table& table, const OffloadBound& bound) {
    OffloadSearch<Table> search(context, program.recomputation, table, bound);
    OffloadAnswer best;
    std::int64_t labels = 0;
    for (const std::size_t most : {std::min(first_labels, at(program.most_labels)),
                                   at(program.most_labels)}) {
        const SearchResult found = search.run(best.time, most);
        labels += found.labels;
        if (!found.parts.empty()) {
            OffloadAnswer faster;
            Assembly<Table>(context, table).run(found.parts, faster);
            // The time of a schedule is never above that of its labels.
            best = std::move(faster);
        }
        best.floor = std::min(found.floor, best.time);
    }
    best.labels = labels;
    best.states = table.states();
    return best;
}

}  // namespace

OffloadAnswer solve_offload(const OffloadProgram& program, const std::function<void()>& poll) {
    Budget budget(program.most_bytes);
    const ForwardRuns runs(program.chain);
    const OffloadContext context{program.chain, runs,  program.slots,
                                 program.chain.memory / program.slots, budget, poll};
    GridBackward<Rounding::lower> lower(context);
    const OffloadBound bound(context, program.recomputation, lower);
    OffloadAnswer answer;
    const std::int64_t root = bound(1, 0, 0, 0, 0);
    if (root >= never) return answer;
    if (program.accuracy == Accuracy::exact) {
        ExactBackward exact(context, lower.rotor());
        answer = find_schedule(context, program, exact, bound);
    } else {
        GridBackward<Rounding::upper> upper(context);
        answer = find_schedule(context, program, upper, bound);
        OffloadSearch<GridBackward<Rounding::lower>> search(context, program.recomputation, lower,
                                                            bound);
        const SearchResult proof = search.run(answer.time, at(program.most_labels));
        answer.floor = proof.floor;
        answer.labels += proof.labels;
    }
    answer.floor = std::min(std::max(root, answer.floor), answer.time);
    answer.states += lower.states();
    return answer;
}

}  // namespace jettison

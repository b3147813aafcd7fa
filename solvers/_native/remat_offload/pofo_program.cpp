#include "remat_offload/pofo_program.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "remat_offload/backward.hpp"
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
            std::int64_t room = av - chain.saving(i);
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
                   std::max(inner, left - (av - chain.gradient[at(j)] - chain.saving(i)));
        }
        const std::int32_t k = choice.last;
        std::vector<Step> lower_steps;
        const std::int64_t lower = build(i, k, av, d, lower_steps);
        pass(steps, i, k);
        const std::int64_t upper =
            build(k + 1, j, av - chain.output[at(k)], positive(d - lower), steps);
        steps.insert(steps.end(), lower_steps.begin(), lower_steps.end());
        const std::int64_t room = av - chain.gradient[at(j)] - context_.runs.late(i, k);
        return context_.runs.time(i, k) + std::max(lower + upper, d - room);
    }

    OffloadContext context_;
    Table& table_;
};

template <typename Table>
OffloadAnswer run_search(const OffloadContext& context, Recomputation recomputation, Table& table,
                         const OffloadBound& bound, std::size_t most, std::int64_t limit,
                         bool assembles) {
    const SearchResult found =
        OffloadSearch<Table>(context, recomputation, table, bound).run(limit, most);
    OffloadAnswer answer;
    if (assembles && !found.parts.empty()) {
        // The time of a schedule is never above that of its labels.
        Assembly<Table>(context, table).run(found.parts, answer);
    }
    answer.floor = found.floor;
    answer.is_complete = found.is_complete;
    answer.labels = found.labels;
    answer.states = table.states();
    return answer;
}

}  // namespace

// All tables of one pair of grids. Those of the searches are made when they are first needed.
struct OffloadProgram::Level {
    Level(const OffloadContext& of_states, const OffloadContext& of_backward,
          Recomputation recomputation, const OffloadBound* bound_before, LinkPrograms programs,
          std::int64_t limit)
        : states(of_states),
          backward(of_backward),
          rotor(std::in_place, backward, Rounding::lower),
          bound(states, recomputation, *rotor, bound_before, programs, limit) {}

    // Keeps of the level before what the bound still reads.
    void keep(std::unique_ptr<Level> level) {
        while (level != nullptr && &level->bound != bound.other()) level = std::move(level->before);
        before = std::move(level);
        if (before != nullptr) before->rotor.reset();
    }

    void forget_searches() {
        exact.reset();
        upper.reset();
        upper_rotor.reset();
        lower.reset();
    }

    OffloadContext states;
    OffloadContext backward;
    std::unique_ptr<Level> before;  // with the program that was not filled here
    std::optional<RotorTable> rotor;
    OffloadBound bound;
    std::optional<RotorTable> upper_rotor;
    std::optional<GridBackward<Rounding::lower>> lower;
    std::optional<GridBackward<Rounding::upper>> upper;
    std::optional<ExactBackward> exact;
};

OffloadProgram::OffloadProgram(OffloadChain chain, Recomputation recomputation,
                               std::int64_t most_bytes)
    : budget_(most_bytes),
      chain_(std::move(chain)),
      runs_((budget_.take(ForwardRuns::bytes(chain_)), chain_)),
      recomputation_(recomputation) {}

OffloadProgram::~OffloadProgram() = default;

std::int64_t OffloadProgram::refine(std::int64_t slot, std::int64_t backward_slot,
                                    bool both_programs, std::int64_t limit, const Poll& poll) {
    poll_ = poll;
    const OffloadBound* before = nullptr;
    LinkPrograms programs = LinkPrograms::both;
    if (level_ != nullptr) {
        level_->forget_searches();
        before = &level_->bound;
        limit = std::min(limit, before->limit());
        if (!both_programs) programs = before->stronger();
    }
    const auto context = [&](std::int64_t units) {
        return OffloadContext{chain_, runs_, OffloadGrid(chain_.memory, units), budget_, poll_};
    };
    auto level = std::make_unique<Level>(context(slot), context(backward_slot), recomputation_,
                                         before, programs, limit);
    level->keep(std::move(level_));
    level_ = std::move(level);
    return std::min(level_->bound(1, 0, 0, 0, 0), never);
}

OffloadAnswer OffloadProgram::search(Accuracy accuracy, std::size_t most, std::int64_t limit,
                                     const Poll& poll) {
    if (level_ == nullptr) throw std::logic_error("no grid to search on");
    poll_ = poll;
    Level& level = *level_;
    limit = std::min(limit, level.bound.limit());
    const auto run = [&](auto& table, bool assembles) {
        return run_search(level.states, recomputation_, table, level.bound, most, limit,
                          assembles);
    };
    switch (accuracy) {
        case Accuracy::lower:
            if (!level.lower) level.lower.emplace(level.backward, *level.rotor);
            return run(*level.lower, false);
        case Accuracy::upper:
            if (!level.upper_rotor) level.upper_rotor.emplace(level.backward, Rounding::upper);
            if (!level.upper) level.upper.emplace(level.backward, *level.upper_rotor);
            return run(*level.upper, true);
        case Accuracy::exact:
            if (!level.exact) level.exact.emplace(level.backward, *level.rotor);
            return run(*level.exact, true);
    }
    throw std::logic_error("unknown accuracy");
}

}  // namespace jettison

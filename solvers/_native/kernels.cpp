// The Python face of the kernels: arrays in, plain numbers and short sequences out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <tuple>
#include <string>
#include <utility>

#include "exact_search.hpp"
#include "least_memory.hpp"
#include "persistent_program.hpp"

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Sequence = std::vector<std::pair<int, int>>;

template <typename T>
std::vector<T> copy(const Vector<T>& array, std::size_t expected, const char* name) {
    if (array.size() != expected) {
        throw std::invalid_argument(std::string(name) + ": wrong length");
    }
    return {array.data(), array.data() + array.size()};
}

template <typename T>
std::vector<T> copy(const Matrix<T>& array, std::size_t expected, const char* name) {
    if (array.shape(0) != expected || array.shape(1) != expected) {
        throw std::invalid_argument(std::string(name) + ": wrong shape");
    }
    return {array.data(), array.data() + array.size()};
}

// Sizes index the table: a negative one would read before it, so it is refused here.
template <typename T>
std::vector<T> copy_amounts(const Vector<T>& array, std::size_t expected, const char* name) {
    std::vector<T> amounts = copy(array, expected, name);
    if (std::any_of(amounts.begin(), amounts.end(), [](T amount) { return amount < 0; })) {
        throw std::invalid_argument(std::string(name) + ": negative");
    }
    return amounts;
}

Sequence to_sequence(const std::vector<jettison::Step>& steps) {
    Sequence sequence;
    sequence.reserve(steps.size());
    for (const auto& step : steps) {
        sequence.emplace_back(static_cast<int>(step.operation), step.stage);
    }
    return sequence;
}

// Lets Ctrl-C and the time limit end a kernel that runs without the interpreter lock.
class Watch {
public:
    explicit Watch(std::optional<double> time_limit_s) {
        const auto now = Clock::now();
        last_ = now;
        // A limit beyond what the clock can hold, infinity included, is no limit.
        if (time_limit_s && *time_limit_s < longest_limit_s) {
            deadline_ = now + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(*time_limit_s));
        }
    }

    void operator()() {
        const auto now = Clock::now();
        if (deadline_ && now > *deadline_) throw TimeIsUp();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        nb::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }

    struct TimeIsUp : std::runtime_error {
        TimeIsUp() : std::runtime_error("the time limit was reached") {}
    };

private:
    using Clock = std::chrono::steady_clock;
    static constexpr double longest_limit_s = 1e9;
    Clock::time_point last_;
    std::optional<Clock::time_point> deadline_;
};

std::optional<std::pair<std::int64_t, Sequence>> persistent_program(
    const Vector<std::int64_t>& forward_ns, const Vector<std::int64_t>& backward_ns,
    const Vector<std::int32_t>& input_slots, const Vector<std::int32_t>& saved_slots,
    const Matrix<std::int32_t>& forward_all_need, const Matrix<std::int32_t>& forward_none_need,
    std::int32_t slots, std::optional<double> time_limit_s) {
    const std::size_t n = forward_ns.size();
    if (n == 0 || slots < 0) throw std::invalid_argument("an empty chain or negative slots");
    jettison::SlottedChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_slots = copy_amounts(input_slots, n, "input_slots");
    chain.saved_slots = copy_amounts(saved_slots, n, "saved_slots");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    std::optional<jettison::Solution> solution;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        solution = std::move(jettison::solve_persistent(chain, {slots}, std::ref(watch)).front());
    }
    if (!solution) return std::nullopt;
    return std::make_pair(solution->time_ns, to_sequence(solution->steps));
}

// Lower bound, time, sequence (empty if none is faster than the known one), states, complete.
std::tuple<std::int64_t, std::int64_t, Sequence, std::int64_t, bool> persistent_optimum(
    const Vector<std::int64_t>& forward_ns, const Vector<std::int64_t>& backward_ns,
    const Vector<std::int64_t>& input_bytes, const Vector<std::int64_t>& saved_bytes,
    const Matrix<std::int64_t>& forward_all_need, const Matrix<std::int64_t>& forward_none_need,
    std::int64_t available_bytes, std::int64_t known_time_ns, std::int32_t slots,
    std::int64_t most_states, std::optional<double> time_limit_s) {
    const std::size_t n = forward_ns.size();
    if (n == 0 || slots < 1 || available_bytes < 1) {
        throw std::invalid_argument("an empty chain, no slots or no memory");
    }
    jettison::ExactChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_bytes = copy_amounts(input_bytes, n, "input_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    jettison::ExactAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        const auto poll = [&watch] {
            try {
                watch();
            } catch (const Watch::TimeIsUp&) {
                return false;
            }
            return true;
        };
        answer = jettison::search_exactly(
            chain, {available_bytes, known_time_ns, slots, most_states}, poll);
    }
    return {answer.lower_bound_ns, answer.time_ns, to_sequence(answer.steps), answer.states,
            answer.complete};
}

std::pair<std::int64_t, Sequence> least_memory(const Vector<std::int64_t>& input_bytes,
                                               const Vector<std::int64_t>& saved_bytes,
                                               const Matrix<std::int64_t>& forward_all_need,
                                               const Matrix<std::int64_t>& forward_none_need) {
    const std::size_t n = input_bytes.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    jettison::ByteChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.input_bytes = copy_amounts(input_bytes, n, "input_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    jettison::LeastMemory found;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(std::nullopt);
        found = jettison::find_least_memory(chain, std::ref(watch));
    }
    return {found.memory_bytes, to_sequence(found.steps)};
}

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() = "Native kernels; the modules that call them document the mathematics.";
    nb::register_exception_translator(
        [](const std::exception_ptr& error, void*) {
            try {
                std::rethrow_exception(error);
            } catch (const Watch::TimeIsUp& stopped) {
                PyErr_SetString(PyExc_TimeoutError, stopped.what());
            }
        });
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("persistent_program", &persistent_program, nb::arg("forward_ns").noconvert(),
          nb::arg("backward_ns").noconvert(), nb::arg("input_slots").noconvert(),
          nb::arg("saved_slots").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert(), nb::arg("slots"),
          nb::arg("time_limit_s") = nb::none());
    m.def("persistent_optimum", &persistent_optimum, nb::arg("forward_ns").noconvert(),
          nb::arg("backward_ns").noconvert(), nb::arg("input_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert(), nb::arg("available_bytes"),
          nb::arg("known_time_ns"), nb::arg("slots"), nb::arg("most_states"),
          nb::arg("time_limit_s") = nb::none());
    m.def("least_memory", &least_memory, nb::arg("input_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert());
}

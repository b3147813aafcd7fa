// Common parts of the bindings of all kernels: checked copies of arrays, sequences, the clock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "remat_chain/persistent_program.hpp"

namespace jettison::binding {

namespace nb = nanobind;

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// One matrix per kind of sub-problem.
template <typename T>
using Matrices = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

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

template <typename T>
std::vector<T> copy(const Matrices<T>& array, std::size_t expected, const char* name) {
    if (array.shape(0) != 4 || array.shape(1) != expected || array.shape(2) != expected) {
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

inline Sequence to_sequence(const std::vector<Step>& steps) {
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
        // A limit that the clock cannot represent, such as infinity, is no limit.
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

// Each adds its functions to the module.
void bind_persistent_program(nb::module_& m);
void bind_chain_cuts(nb::module_& m);
void bind_exact_search(nb::module_& m);
void bind_least_memory(nb::module_& m);
void bind_contents_search(nb::module_& m);
void bind_offload_cut(nb::module_& m);
void bind_pipeline_chain(nb::module_& m);
void bind_pofo_program(nb::module_& m);
void bind_period_search(nb::module_& m);
void bind_pofo_proof(nb::module_& m);
void bind_linked_moments(nb::module_& m);
void bind_remat_anneal(nb::module_& m);
void bind_joint_anneal(nb::module_& m);
void bind_sharding(nb::module_& m);
void bind_sharding_messages(nb::module_& m);
void bind_training_chain(nb::module_& m);
void bind_weight_offload(nb::module_& m);
void bind_weight_sweep(nb::module_& m);

}  // namespace jettison::binding

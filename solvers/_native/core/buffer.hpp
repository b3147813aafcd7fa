// Buffer of uninitialized numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace jettison {

// Numbers without a value yet, aligned to cache lines.
template <typename Number>
class Buffer {
public:
    // Throws std::bad_alloc where there is not that much.
    explicit Buffer(std::int64_t size)
        : data_(static_cast<Number*>(
              ::operator new(static_cast<std::size_t>(size) * sizeof(Number), alignment))) {
#ifdef __linux__
        // Large pages are mapped in a fraction of the time; the buffer works without them, too.
        constexpr std::uintptr_t page = 4096;
        const auto from = reinterpret_cast<std::uintptr_t>(data_.get());
        const std::uintptr_t first = (from + page - 1) / page * page;
        const std::uintptr_t last =
            (from + static_cast<std::size_t>(size) * sizeof(Number)) / page * page;
        if (last >= first + least_advised_bytes) {
            madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
        }
#endif
    }

    Number* data() const { return data_.get(); }

private:
    static constexpr std::align_val_t alignment{64};
    static constexpr std::uintptr_t least_advised_bytes = std::uintptr_t{1} << 22;

    struct Free {
        void operator()(Number* data) const { ::operator delete(data, alignment); }
    };

    std::unique_ptr<Number, Free> data_;
};

}  // namespace jettison

// A memory divided into equal slots, whose size is an exact fraction of bytes.
#pragma once

#include <cstdint>

namespace jettison {

// Slot k holds the sizes above (k - 1) d and up to k d bytes, with d = available / count. Slot 0
// holds the size 0 only, slot count + 1 stands for all that is not available.
struct Slots {
    std::int64_t available_bytes = 1;
    std::int64_t count = 1;

    std::int64_t rounded_down(std::int64_t bytes) const {
        return bytes > available_bytes ? count + 1 : quotient(bytes, count, 0, available_bytes);
    }
    // The slot that holds this size.
    std::int64_t rounded_up(std::int64_t bytes) const {
        return bytes > available_bytes
                   ? count + 1
                   : quotient(bytes, count, available_bytes - 1, available_bytes);
    }
    std::int64_t last_byte(std::int64_t slot) const {
        return quotient(slot, available_bytes, 0, count);
    }
    std::int64_t first_byte(std::int64_t slot) const {
        return slot == 0 ? 0 : last_byte(slot - 1) + 1;
    }

private:
    static std::int64_t quotient(std::int64_t value, std::int64_t factor, std::int64_t more,
                                 std::int64_t divisor) {
        // Bytes times slots can need more than 64 bits.
        __extension__ using wide = __int128;
        return static_cast<std::int64_t>((static_cast<wide>(value) * factor + more) / divisor);
    }
};

}  // namespace jettison

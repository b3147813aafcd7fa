// Ways to hold one tensor at a cut of a chain with offloading.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "remat_offload/cut.hpp"

namespace jettison {

using CutStates = std::vector<CutState>;

// The ways to hold a tensor of stage k where transfers free memory byte by byte: only the sum of
// what is held counts.
class FluidMoves {
public:
    FluidMoves(const OffloadCut& cut, const FluidLink& link) : cut_(cut), link_(link) {}

    void save(std::size_t k, const CutState& from, CutStates& to) const {
        if (from.device_bytes + cut_.plain_bytes[k] > link_.input_bytes[k]) return;
        hold(k, from, cut_.saved_bytes[k], 0, to);
    }

    void save_and_run(std::size_t k, const CutState& from, CutStates& to) const {
        hold(k, from, cut_.saved_bytes[k], cut_.forward_ns[k], to);
    }

    void hold_plain(std::size_t k, const CutState& from, CutStates& to) const {
        hold(k, from, cut_.plain_bytes[k], cut_.forward_ns[k], to);
    }

    void start_path(std::size_t k, std::size_t, std::int64_t, const CutState& from,
                    CutStates& to) const {
        save(k, from, to);
        if (k > 0) hold_plain(k, from, to);
    }

    // The memory that a tensor needs, that a state has taken, and that the stages from k on have.
    double weight(std::size_t k) const { return static_cast<double>(cut_.saved_bytes[k]); }
    double taken(const CutState& state) const { return static_cast<double>(state.device_bytes); }
    double room(std::size_t k) const { return static_cast<double>(link_.held_bytes[k]); }

private:
    void hold(std::size_t k, const CutState& from, std::int64_t bytes, std::int64_t ns,
              CutStates& to) const {
        const std::int64_t device = from.device_bytes + bytes;
        if (device <= link_.held_bytes[k]) {
            to.push_back({device, from.link_ns, from.rerun_ns + ns});
        }
    }

    const OffloadCut& cut_;
    const FluidLink& link_;
};

// The ways to hold a tensor of stage k where all of it is on the device, or all of it on the host.
class AtOnceMoves {
public:
    AtOnceMoves(const OffloadCut& cut, const AtOnceLink& link) : cut_(cut), link_(link) {
        double bytes = 0;
        double ns = 0;
        for (std::size_t k = 0; k < cut.saved_bytes.size(); ++k) {
            bytes += static_cast<double>(cut.saved_bytes[k]);
            ns += static_cast<double>(link.saved_ns[k]);
        }
        bytes_per_ns_ = ns > 0 ? bytes / ns : 0;
    }

    void save(std::size_t k, const CutState& from, CutStates& to) const {
        on_device(from, cut_.saved_bytes[k], 0, to);
        if (from.link_ns + link_.saved_ns[k] <= link_.early_ns[k]) {
            to.push_back({from.device_bytes, from.link_ns + link_.saved_ns[k], from.rerun_ns});
        }
        // A plain copy lets abar come later. Nothing but a second run of F makes one.
        if (k == 0 || link_.slack_ns < cut_.forward_ns[k]) return;
        CutState with_copy = from;
        if (k + 1 == cut_.plain_bytes.size()) with_copy.device_bytes += cut_.plain_bytes[k];
        on_host(k, with_copy, link_.saved_ns[k], 0, to);
    }

    void save_and_run(std::size_t k, const CutState& from, CutStates& to) const {
        on_host(k, from, link_.saved_ns[k], cut_.forward_ns[k], to);
    }

    void hold_plain(std::size_t k, const CutState& from, CutStates& to) const {
        on_device(from, cut_.plain_bytes[k], cut_.forward_ns[k], to);
        on_host(k, from, link_.plain_ns[k], cut_.forward_ns[k], to);
    }

    // The stages above k up to `top` run after k is back and before B of `top`: for `ns`.
    void start_path(std::size_t k, std::size_t top, std::int64_t ns, const CutState& from,
                    CutStates& to) const {
        const std::int64_t left_ns = link_.path_ns[top] - ns;
        if (link_.saved_ns[k] <= left_ns) {
            save(k, from, to);
        } else {
            on_device(from, cut_.saved_bytes[k], 0, to);
            if (k > 0 && link_.slack_ns >= cut_.forward_ns[k]) {
                // They can read a plain copy, on the device or back in time, beside a late abar.
                CutState with_copy = from;
                if (link_.plain_ns[k] <= left_ns) {
                    with_copy.link_ns += link_.plain_ns[k];
                } else {
                    with_copy.device_bytes += cut_.plain_bytes[k];
                }
                on_host(k, with_copy, link_.saved_ns[k], 0, to);
            }
        }
        if (k == 0) return;
        if (link_.plain_ns[k] <= left_ns) {
            hold_plain(k, from, to);
        } else {
            on_device(from, cut_.plain_bytes[k], cut_.forward_ns[k], to);
        }
    }

    // Time of the link is converted into bytes: a tensor on neither side takes no memory.
    double weight(std::size_t k) const {
        return std::min(static_cast<double>(cut_.saved_bytes[k]), on_link(link_.saved_ns[k]));
    }
    double taken(const CutState& state) const {
        return static_cast<double>(state.device_bytes) + on_link(state.link_ns);
    }
    double room(std::size_t k) const {
        const std::int64_t ns = std::max(link_.late_ns[k], link_.early_ns[k]);
        return static_cast<double>(cut_.device_bytes) + on_link(std::max<std::int64_t>(0, ns));
    }

private:
    double on_link(std::int64_t ns) const { return bytes_per_ns_ * static_cast<double>(ns); }

    void on_device(const CutState& from, std::int64_t bytes, std::int64_t ns, CutStates& to) const {
        const std::int64_t device = from.device_bytes + bytes;
        if (device <= cut_.device_bytes) to.push_back({device, from.link_ns, from.rerun_ns + ns});
    }

    void on_host(std::size_t k, const CutState& from, std::int64_t copy_ns, std::int64_t ns,
                 CutStates& to) const {
        const std::int64_t link = from.link_ns + copy_ns;
        if (link <= link_.late_ns[k] && from.device_bytes <= cut_.device_bytes) {
            to.push_back({from.device_bytes, link, from.rerun_ns + ns});
        }
    }

    const OffloadCut& cut_;
    const AtOnceLink& link_;
    double bytes_per_ns_;
};

}  // namespace jettison

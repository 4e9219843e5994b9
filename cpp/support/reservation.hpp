// Memory that is reserved of a monitor for as long as something lives.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "support/monitor.hpp"

namespace coreplan {

// So much, in one or several steps.
class Reservation {
public:
    // The monitor has to outlive it.
    explicit Reservation(Monitor& monitor) : monitor_(&monitor) {}
    ~Reservation() { monitor_->release(bytes_); }
    Reservation(Reservation&& other) noexcept
        : monitor_(other.monitor_), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    friend void swap(Reservation& one, Reservation& other) noexcept {
        std::swap(one.monitor_, other.monitor_);
        std::swap(one.bytes_, other.bytes_);
    }

    // More than before; throws, and changes nothing, if that does not fit.
    void take(double bytes, const std::string& what) {
        monitor_->reserve(bytes, what);
        bytes_ += bytes;
    }
    // The same; false if it does not fit.
    [[nodiscard]] bool try_take(double bytes) {
        if (!monitor_->fits(bytes)) return false;
        take(bytes, "");
        return true;
    }
    void give_back(double bytes) noexcept {
        monitor_->release(bytes);
        bytes_ -= bytes;
    }
    // So much in all; throws, and changes nothing, if that does not fit.
    void set(double bytes, const std::string& what) {
        if (bytes > bytes_) take(bytes - bytes_, what);
        else give_back(bytes_ - bytes);
    }
    // So much has been reserved already, and is released with the rest.
    void adopt(double bytes) noexcept { bytes_ += bytes; }
    // So much of it stays reserved when this is gone: it goes with what is handed to the caller,
    // who may `adopt` it; what outlives the monitor is reserved as long as the monitor is asked.
    void keep(double bytes) noexcept { bytes_ -= bytes; }
    void keep_all() noexcept { bytes_ = 0; }
    [[nodiscard]] double bytes() const noexcept { return bytes_; }
    [[nodiscard]] Monitor& monitor() const noexcept { return *monitor_; }

private:
    Monitor* monitor_;
    double bytes_ = 0;
};

// Something whose memory is reserved as long as anybody has it.
template <class Value>
std::shared_ptr<Value> counted(Reservation memory, Value value) {
    struct Held {
        Reservation memory;  // goes last
        Value value;
    };
    const auto held = std::make_shared<Held>(Held{std::move(memory), std::move(value)});
    return {held, &held->value};
}

// Gives back what has been reserved of a monitor since it was made.
class Lease {
public:
    explicit Lease(Monitor& monitor) : monitor_(monitor), before_(monitor.reserved()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { monitor_.release(settled_ ? bytes_ : monitor_.reserved() - before_); }
    // Whatever is reserved from now on is not its business.
    void settle() {
        bytes_ = monitor_.reserved() - before_;
        settled_ = true;
    }

private:
    Monitor& monitor_;
    double before_;
    double bytes_ = 0;
    bool settled_ = false;
};

}  // namespace coreplan

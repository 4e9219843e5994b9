// Memory that is reserved of a monitor for as long as something lives.
#pragma once

#include <string>

#include "support/monitor.hpp"

namespace coreplan {

// So much, in one or several steps.
class Reservation {
public:
    // The monitor has to outlive it.
    explicit Reservation(Monitor& monitor) : monitor_(&monitor) {}
    ~Reservation() { monitor_->release(bytes_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

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
    // So much of it stays reserved when this is gone: it is for the caller to release.
    void keep(double bytes) noexcept { bytes_ -= bytes; }
    [[nodiscard]] double bytes() const noexcept { return bytes_; }
    [[nodiscard]] Monitor& monitor() const noexcept { return *monitor_; }

private:
    Monitor* monitor_;
    double bytes_ = 0;
};

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

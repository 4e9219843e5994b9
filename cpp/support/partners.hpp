// One solve by several processes, its partners. All of them take the same course with the whole
// problem, as decisions go by counted work and never by a clock. Only long rounds of independent
// pieces are divided: each partner does some of the pieces, and they tell each other what came out.
// So bounds, plans and counted work are those of one process. Who is lost, or does not do the same
// as the others any more, is left out; its pieces are then done by all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "support/monitor.hpp"
#include "support/work_list.hpp"

namespace coreplan {

// Values written one after the other, and read in the same order: by the same program on machines
// of the same kind.
class Parcel {
public:
    Parcel() = default;
    explicit Parcel(std::string bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool at_end() const noexcept { return read_ == bytes_.size(); }

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void put(const T& value) {
        put_bytes(&value, sizeof(T));
    }
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void put_all(const std::vector<T>& values) {
        put<std::uint64_t>(values.size());
        put_bytes(values.data(), values.size() * sizeof(T));
    }
    // Throw `Damaged` if the bytes end too early.
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    T take() {
        T value;
        take_bytes(&value, sizeof(T));
        return value;
    }
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void take_all(std::vector<T>& values) {
        const auto count = take<std::uint64_t>();
        if (count > (bytes_.size() - read_) / sizeof(T)) throw Damaged();
        values.resize(count);
        take_bytes(values.data(), count * sizeof(T));
    }

    struct Damaged : std::runtime_error {
        Damaged() : std::runtime_error("the answer of a partner is damaged") {}
    };

private:
    void put_bytes(const void* from, std::size_t count) {
        bytes_.append(static_cast<const char*>(from), count);
    }
    void take_bytes(void* to, std::size_t count) {
        if (count > bytes_.size() - read_) throw Damaged();
        if (count > 0) std::memcpy(to, bytes_.data() + read_, count);
        read_ += count;
    }

    std::string bytes_;
    std::size_t read_ = 0;
};

// What partners tell each other about.
struct SharedRound {
    // Whether they do the same: how far they are, and what there is to do.
    std::uint64_t course = 0;
    std::vector<double> work;  // of each piece, about; in units of support/costs.hpp
};

// How partners exchange results. Python implements the transport.
class Partners {
public:
    virtual ~Partners() = default;

    // Who takes part in the next round, in the same order at all partners; and which of them this
    // process is.
    [[nodiscard]] virtual std::size_t count() const = 0;
    [[nodiscard]] virtual std::size_t self() const = 0;
    // A round with less work is not divided: telling would take longer than doing. The same for
    // all, in units of support/costs.hpp.
    [[nodiscard]] virtual double least_work() const = 0;
    // Gives what this process has found, waits for the others, and says what they gave, one after
    // the other; nothing of those who are lost. None if the monitor says that the work has to stop.
    virtual std::optional<std::vector<std::optional<std::string>>> exchange(
        const SharedRound& round, std::string mine, Monitor& monitor) = 0;
};

// Independent pieces of work whose results can be sent.
struct SharedPieces {
    std::size_t count = 0;
    std::function<double(std::size_t piece)> work;  // about as much, in units of support/costs.hpp
    WorkList::Piece run;
    std::function<void(std::size_t piece, Parcel& parcel)> put;   // what it gave
    std::function<void(std::size_t piece, Parcel& parcel)> take;  // instead of doing it
};

// Which of the partners does each piece: always the one with the least to do so far.
std::vector<std::size_t> divide(const std::vector<double>& work, std::size_t partners);

// Does all pieces, together with the monitor's partners if it has some and it pays. All their work
// is counted. False if a limit struck.
bool run_shared(const WorkList& list, const SharedPieces& pieces, Monitor& monitor);

}  // namespace coreplan

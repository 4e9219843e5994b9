#include "support/partners.hpp"

#include <barrier>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "check.hpp"

namespace coreplan {
namespace {

// What some partners gave, in a round that all of them take part in.
struct Board {
    explicit Board(std::size_t count)
        : parcels(count), barrier(static_cast<std::ptrdiff_t>(count)) {}
    std::vector<std::optional<std::string>> parcels;
    std::barrier<> barrier;
};

class ThreadPartners : public Partners {
public:
    ThreadPartners(Board& board, std::size_t self, bool lost = false)
        : board_(board), self_(self), lost_(lost) {}
    [[nodiscard]] std::size_t count() const override { return board_.parcels.size(); }
    [[nodiscard]] std::size_t self() const override { return self_; }
    [[nodiscard]] double least_work() const override { return 10; }
    std::optional<std::vector<std::optional<std::string>>> exchange(const SharedRound&,
                                                                    std::string mine,
                                                                    Monitor&) override {
        if (lost_) {
            board_.parcels[self_].reset();
        } else {
            board_.parcels[self_] = std::move(mine);
        }
        board_.barrier.arrive_and_wait();
        auto all = board_.parcels;
        board_.barrier.arrive_and_wait();
        return all;
    }

private:
    Board& board_;
    std::size_t self_;
    bool lost_;
};

// Squares of numbers: the work of a piece is its number, and is counted.
struct Squares {
    explicit Squares(std::size_t count) : found(count, 0), done(count, 0) {
        pieces.count = count;
        pieces.work = [](std::size_t piece) { return static_cast<double>(piece); };
        pieces.run = [this](std::size_t piece, unsigned, Monitor& own) {
            found[piece] = piece * piece;
            ++done[piece];
            own.tick(piece);
        };
        pieces.put = [this](std::size_t piece, Parcel& parcel) {
            parcel.put_all(std::vector<std::size_t>(piece % 3, found[piece]));
            parcel.put(found[piece]);
        };
        pieces.take = [this](std::size_t piece, Parcel& parcel) {
            std::vector<std::size_t> some;
            parcel.take_all(some);
            CHECK(some == std::vector<std::size_t>(piece % 3, piece * piece));
            found[piece] = parcel.take<std::size_t>();
        };
    }
    std::vector<std::size_t> found;
    std::vector<int> done;
    SharedPieces pieces;
};

void check_all(const Squares& squares) {
    for (std::size_t k = 0; k < squares.found.size(); ++k) CHECK(squares.found[k] == k * k);
}

// One round of several partners, the last one of them lost; what each of them did itself.
std::vector<Squares> round_of(std::size_t partners, std::size_t pieces, unsigned threads,
                              bool lost) {
    Board board(partners);
    std::vector<Squares> all;
    all.reserve(partners);
    for (std::size_t p = 0; p < partners; ++p) all.emplace_back(pieces);
    std::vector<std::uint64_t> work(partners);
    {
        std::vector<std::jthread> running;
        for (std::size_t p = 0; p < partners; ++p) {
            running.emplace_back([&, p] {
                Monitor monitor;
                monitor.set_partners(
                    std::make_shared<ThreadPartners>(board, p, lost && p + 1 == partners));
                CHECK(run_shared(WorkList(threads), all[p].pieces, monitor));
                work[p] = monitor.work();
            });
        }
    }
    const std::size_t last = pieces > 0 ? pieces - 1 : 0;
    for (const std::uint64_t each : work) CHECK(each == last * pieces / 2);
    return all;
}

TEST("partners divide the pieces, and all of them have all results and count all work") {
    for (const std::size_t partners : {2U, 3U}) {
        for (const unsigned threads : {1U, 2U}) {
            std::vector<int> done(40, 0);
            for (const Squares& each : round_of(partners, 40, threads, false)) {
                check_all(each);
                for (std::size_t k = 0; k < 40; ++k) done[k] += each.done[k];
            }
            CHECK(done == std::vector<int>(40, 1));
        }
    }
}

TEST("the pieces of a lost partner are done by all others") {
    const std::vector<Squares> all = round_of(3, 40, 1, true);
    for (const Squares& each : all) check_all(each);
    for (std::size_t k = 0; k < 40; ++k) {
        CHECK(all[0].done[k] + all[1].done[k] == (all[2].done[k] > 0 ? 2 : 1));
    }
}

TEST("a round that is too short is not divided") {
    // Of so few pieces everybody does all.
    for (const Squares& each : round_of(2, 4, 1, false)) CHECK(each.done == std::vector<int>(4, 1));
}

TEST("partners get about as much work each") {
    std::vector<double> work(100);
    std::iota(work.begin(), work.end(), 0.0);
    const std::vector<std::size_t> who = divide(work, 3);
    std::vector<double> load(3, 0.0);
    for (std::size_t k = 0; k < 100; ++k) load[who[k]] += work[k];
    for (const double each : load) CHECK_NEAR(each, 4950.0 / 3, 100.0);
}

TEST("a parcel that ends too early is damaged, and says so") {
    Parcel whole;
    whole.put_all(std::vector<double>{1, 2, 3});
    for (std::size_t length = 0; length < whole.bytes().size(); ++length) {
        Parcel part(whole.bytes().substr(0, length));
        std::vector<double> values;
        CHECK_THROWS(Parcel::Damaged, part.take_all(values));
    }
    Parcel all(whole.bytes());
    std::vector<double> values;
    all.take_all(values);
    CHECK(values == std::vector<double>({1, 2, 3}));
    CHECK(all.at_end());
}

}  // namespace
}  // namespace coreplan

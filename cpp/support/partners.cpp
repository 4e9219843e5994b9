#include "support/partners.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace coreplan {

namespace {

// Does the given pieces; counts the work of each.
bool run_some(const WorkList& list, const SharedPieces& pieces,
              const std::vector<std::size_t>& mine, std::vector<std::uint64_t>& spent,
              Monitor& monitor) {
    return list.run(
        mine.size(),
        [&](std::size_t k, unsigned worker, Monitor& own) {
            const std::uint64_t before = own.work();
            pieces.run(mine[k], worker, own);
            spent[mine[k]] = own.work() - before;
        },
        monitor);
}

}  // namespace

std::vector<std::size_t> divide(const std::vector<double>& work, std::size_t partners) {
    std::vector<std::size_t> who;
    std::vector<double> load(partners, 0.0);
    for (const double each : work) {
        const auto least = std::ranges::min_element(load);
        who.push_back(static_cast<std::size_t>(least - load.begin()));
        *least += each;
    }
    return who;
}

bool run_shared(const WorkList& list, const SharedPieces& pieces, Monitor& monitor) {
    Partners* const partners = monitor.partners();
    SharedRound round;
    if (partners != nullptr && partners->count() > 1 && pieces.count > 1) {
        for (std::size_t piece = 0; piece < pieces.count; ++piece) {
            round.work.push_back(pieces.work(piece));
        }
    }
    const double total = std::accumulate(round.work.begin(), round.work.end(), 0.0);
    if (round.work.empty() || total < partners->least_work()) {
        return list.run(pieces.count, pieces.run, monitor);
    }
    round.course = (monitor.work() * 1'000'003U) ^ pieces.count;
    const std::size_t self = partners->self();
    const std::vector<std::size_t> who = divide(round.work, partners->count());
    std::vector<std::vector<std::size_t>> parts(partners->count());
    for (std::size_t piece = 0; piece < pieces.count; ++piece) parts[who[piece]].push_back(piece);
    std::vector<std::uint64_t> spent(pieces.count, 0);
    if (!run_some(list, pieces, parts[self], spent, monitor)) return false;
    Parcel parcel;
    for (const std::size_t piece : parts[self]) {
        parcel.put(spent[piece]);
        pieces.put(piece, parcel);
    }
    auto answers = partners->exchange(round, parcel.bytes(), monitor);
    if (!answers) return false;
    std::vector<std::size_t> missing;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if (p == self) continue;
        std::size_t taken = 0;
        if ((*answers)[p]) {
            Parcel theirs(std::move(*(*answers)[p]));
            try {
                std::uint64_t work = 0;
                for (; taken < parts[p].size(); ++taken) {
                    work = theirs.take<std::uint64_t>();
                    pieces.take(parts[p][taken], theirs);
                    monitor.add_work(work);
                }
            } catch (const Parcel::Damaged&) {  // that piece and the rest are done here
            }
        }
        missing.insert(missing.end(), parts[p].begin() + static_cast<std::ptrdiff_t>(taken),
                       parts[p].end());
    }
    return missing.empty() || run_some(list, pieces, missing, spent, monitor);
}

}  // namespace coreplan

// Goes through the steps once. Accesses are put on the file's content in this order; whether the order is one that the
// standard demands is what the clocks say.
#include "oracle.h"

#include <algorithm>
#include <map>

#include "opening.h"

namespace mercutio::programs {
namespace {

class Pass : public Order {
 public:
  Pass(const Program& program, int rank, const Story* story)
      : program_(program),
        story_(story),
        data_of_(rank),
        openings_(static_cast<size_t>(program.handles)),
        contents_(program.files.size()) {
    for (size_t f = 0; f < contents_.size(); ++f) {
      contents_[f].start(std::max<i64>(program.files[f].initial_bytes, 0), key_of_file(static_cast<int>(f)));
    }
    plans_.resize(program.steps.size());
    for (Clock& clock : clocks_) clock.fill(-1);
  }

  std::vector<Planned> run() {
    for (now_ = 0; now_ < static_cast<int>(program_.steps.size()); ++now_) {
      take(program_.steps[static_cast<size_t>(now_)]);
      for (int r = 0; r < program_.ranks; ++r) clocks_[index(r)][index(r)] = now_;
    }
    for (Content& content : contents_) {
      for (Look& look : content.looks) conclude(look);
    }
    return std::move(plans_);
  }

  [[nodiscard]] bool visible(const Effect& effect, Observer to) const override {
    if (effect.done == kUnderWay) return false;
    if (effect.rank < 0) return change_visible(effect, to);
    if (to.rank < 0) {  // a collective change of the size
      if (effect.opening == to.opening && effect.colour == changing_colour_) return true;
      for (const int rank : ranks_of(to.opening, changing_colour_)) {
        if (!seen_by(effect, effect.rank, {rank, to.opening})) return false;
      }
      return true;
    }
    return seen_by(effect, effect.rank, to);
  }

 private:
  static size_t index(int i) { return static_cast<size_t>(i); }
  static size_t index(i64 i) { return static_cast<size_t>(i); }
  [[nodiscard]] const Opening& opening(int number) const { return openings_[index(number)]; }
  [[nodiscard]] Content& content_of(int handle) { return contents_[index(opening(handle).open.file)]; }
  [[nodiscard]] int colour(int handle, int rank) const {
    return colour_of(opening(handle).open.group, rank, program_.ranks);
  }
  [[nodiscard]] std::vector<int> ranks_of(int handle, int wanted) const {
    std::vector<int> ranks;
    for (int r = 0; r < program_.ranks; ++r) {
      if (colour(handle, r) == wanted) ranks.push_back(r);
    }
    return ranks;
  }

  [[nodiscard]] bool failed(int rank) const {
    return story_ && story_->came[index(now_)][index(rank)] == Came::kFailed;
  }

  [[nodiscard]] bool change_visible(const Effect& effect, Observer to) const {
    const std::vector<int> ranks = ranks_of(effect.opening, effect.colour);
    const bool takes_part =
        to.opening == effect.opening && (to.rank < 0 ? changing_colour_ == effect.colour
                                                     : std::find(ranks.begin(), ranks.end(), to.rank) != ranks.end());
    if (takes_part) return true;
    const std::vector<int> observers = to.rank < 0 ? ranks_of(to.opening, changing_colour_) : std::vector<int>{to.rank};
    for (const int from : ranks) {
      for (const int rank : observers) {
        if (!seen_by(effect, from, {rank, to.opening})) return false;
      }
    }
    return true;
  }

  // Whether what `from` did is visible to a rank; opening -1: to who looks by POSIX.
  [[nodiscard]] bool seen_by(const Effect& effect, int from, Observer to) const {
    if (to.rank == from && to.opening == effect.opening) return true;
    const Clock& clock = clocks_[index(to.rank)];
    const bool before = clock[index(from)] >= effect.done;
    if (program_.posix_order && before && program_.same_job(from, to.rank)) return true;
    if (to.opening >= 0 && to.opening == effect.opening && effect.atomic && opening(to.opening).atomic &&
        colour(to.opening, to.rank) == effect.colour) {
      return before;
    }
    const std::vector<int>& flushed = opening(effect.opening).flushed[index(from)];
    const auto first = std::lower_bound(flushed.begin(), flushed.end(), effect.done);
    if (first == flushed.end()) return false;
    const Clock& then = to.opening < 0 ? clock : opening(to.opening).seen[index(to.rank)];
    return then[index(from)] >= *first;
  }

  void take(const Step& step) {
    Planned& planned = plans_[index(now_)];
    for (int r = 0; r < program_.ranks; ++r) planned.ranks[index(r)].in = step.parts[index(r)].in;
    switch (step.op) {
      case Op::kOpen:
        return open(step, planned);
      case Op::kClose:
      case Op::kSync:
        return flush(step);
      case Op::kSetView:
        return set_view(step);
      case Op::kAccess:
        return access(step, planned);
      case Op::kComplete:
        return complete(step, planned);
      case Op::kBarrier:
        return barrier();
      case Op::kSetSize:
      case Op::kPreallocate:
        return resize(step);
      case Op::kSeek:
        return seek(step, planned);
      case Op::kSeekShared:
        for (int r = 0; r < program_.ranks; ++r) {
          if (step.parts[index(r)].in) openings_[index(step.handle)].shared[index(colour(step.handle, r))] = step.value;
        }
        return;
      case Op::kGetSize:
      case Op::kVerify:
        return look(step, planned);
      case Op::kGetPosition:
        for (int r = 0; r < program_.ranks; ++r)
          planned.ranks[index(r)].least = opening(step.handle).individual[index(r)];
        return;
      case Op::kSetAtomicity:
        openings_[index(step.handle)].atomic = step.value != 0;
        return;
      case Op::kSetInfo:
        return;
      case Op::kMeterBegin:
        asked_ = 0;
        return;
      case Op::kMeterEnd:
        planned.asked_bytes = asked_;
        return;
    }
  }

  void barrier() {
    Clock all;
    all.fill(-1);
    for (int r = 0; r < program_.ranks; ++r) {
      for (int p = 0; p < program_.ranks; ++p) all[index(p)] = std::max(all[index(p)], clocks_[index(r)][index(p)]);
    }
    for (int r = 0; r < program_.ranks; ++r) clocks_[index(r)] = all;
    // What is over now can't be overtaken any more.
    for (Content& content : contents_) {
      for (Look& look : content.looks) {
        if (look.done != kUnderWay) conclude(look);
      }
      std::erase_if(content.looks, [](const Look& look) { return look.done != kUnderWay; });
    }
  }

  void conclude(Look& look) {
    const Step& step = program_.steps[index(look.step)];
    Expected& expected = plans_[index(look.step)].ranks[index(look.rank)];
    if (step.op != Op::kAccess) {
      expected.least = look.low;
      expected.most = look.high;
      expected.data = std::move(look.data);
      return;
    }
    expected.least = expected.most = 0;
    for (const Segment& place : look.places) {
      expected.least += std::clamp<i64>(look.low - place.at, 0, place.bytes);
      expected.most += std::clamp<i64>(look.high - place.at, 0, place.bytes);
    }
    expected.data = std::move(look.data);
    if (!expected.data.empty()) {
      size_t stream = 0;
      for (const Segment& place : look.places) {
        for (i64 i = place.at; i < place.at + place.bytes; ++i, ++stream) {
          if (i >= look.low) expected.data[stream].key = kAnything;
        }
      }
    }
  }

  [[nodiscard]] std::pair<i64, i64> size_for(int handle, int rank) {
    return content_of(handle).size({rank, handle}, *this);
  }

  void open(const Step& step, Planned& planned) {
    Opening& opening = openings_[index(step.handle)];
    opening = Opening{};
    opening.open = step;
    for (int r = 0; r < program_.ranks; ++r) opening.seen[index(r)] = clocks_[index(r)];
    if (!(step.mode & kAppend)) return;
    for (int r = 0; r < program_.ranks; ++r) {
      const auto [low, high] = size_for(step.handle, r);
      const i64 end = low == high ? low : kUnknown;
      opening.individual[index(r)] = end;
      i64& shared = opening.shared[index(colour(step.handle, r))];
      shared = r == ranks_of(step.handle, colour(step.handle, r))[0] || shared == end ? end : kUnknown;
    }
    (void)planned;
  }

  void flush(const Step& step) {
    Opening& opening = openings_[index(step.handle)];
    bool all = true;
    for (int r = 0; r < program_.ranks; ++r) {
      if (step.parts[index(r)].in && !failed(r)) {
        opening.flushed[index(r)].push_back(now_);
        opening.seen[index(r)] = clocks_[index(r)];
      } else {
        all = false;
      }
    }
    if (step.op != Op::kClose || !(opening.open.mode & kDeleteOnClose)) return;
    Content& content = contents_[index(opening.open.file)];
    all ? content.remove() : content.lose();
  }

  void set_view(const Step& step) {
    Opening& opening = openings_[index(step.handle)];
    for (int r = 0; r < program_.ranks; ++r) {
      const Part& part = step.parts[index(r)];
      if (!part.in || failed(r)) continue;
      opening.views[index(r)] = {part.displacement, program_.map(step.etype).size, part.filetype};
      opening.individual[index(r)] = 0;
      opening.shared[index(colour(step.handle, r))] = 0;
    }
  }

  [[nodiscard]] std::vector<Segment> places_of(const ViewOfRank& view, i64 from, i64 bytes) const {
    std::vector<Segment> places;
    for_each_segment(program_.map(view.filetype), from, bytes, [&](i64 at, i64, i64 length) {
      at += view.displacement;
      if (!places.empty() && places.back().at + places.back().bytes == at) {
        places.back().bytes += length;
      } else {
        places.push_back({at, length});
      }
    });
    return places;
  }

  // The first etype of each rank's part; false: that of one is not determined, or a part is not made of whole etypes.
  [[nodiscard]] bool place(const Step& step, std::array<i64, kMaxRanks>& first, std::array<i64, kMaxRanks>& etypes) {
    Opening& opening = openings_[index(step.handle)];
    std::array<i64, kMaxRanks> shared = opening.shared;
    for (int r = 0; r < program_.ranks; ++r) {
      const Part& part = step.parts[index(r)];
      if (!part.in) continue;
      const i64 bytes = program_.map(part.memory).size * part.count, unit = opening.views[index(r)].etype_bytes;
      if (bytes % unit != 0) return false;
      etypes[index(r)] = bytes / unit;
      i64& pointer = shared[index(colour(step.handle, r))];
      first[index(r)] = step.positioning == Positioning::kExplicit     ? part.offset
                        : step.positioning == Positioning::kIndividual ? opening.individual[index(r)]
                                                                       : pointer;
      if (first[index(r)] == kUnknown || first[index(r)] > kFarthest) return false;
      if (step.positioning == Positioning::kShared) pointer += etypes[index(r)];
    }
    return true;
  }

  [[nodiscard]] bool place_as_planned(const Step& step, std::array<i64, kMaxRanks>& first,
                                      std::array<i64, kMaxRanks>& etypes) const {
    const Planned& planned = (*story_->planned)[index(now_)];
    for (int r = 0; r < program_.ranks; ++r) {
      first[index(r)] = planned.ranks[index(r)].first_etype;
      etypes[index(r)] = planned.ranks[index(r)].bytes / opening(step.handle).views[index(r)].etype_bytes;
    }
    return !planned.dropped;
  }

  void access(const Step& step, Planned& planned) {
    std::array<i64, kMaxRanks> first{}, etypes{};
    planned.dropped = !(story_ ? place_as_planned(step, first, etypes) : place(step, first, etypes));
    if (planned.dropped) return;
    for (int r = 0; r < program_.ranks; ++r) {
      if (!step.parts[index(r)].in) continue;
      Expected& expected = planned.ranks[index(r)];
      const ViewOfRank& view = opening(step.handle).views[index(r)];
      expected.first_etype = first[index(r)];
      expected.bytes = expected.least = expected.most = etypes[index(r)] * view.etype_bytes;
      const std::vector<Segment> places = places_of(view, first[index(r)] * view.etype_bytes, expected.bytes);
      if (step.write) {
        write(step, r, places);
      } else {
        asked_ += expected.bytes;
        read(step, r, places);
      }
      advance(step, r, first[index(r)] + etypes[index(r)], places);
    }
  }

  // Pointers after a read that the end of the file may have cut short are nobody's to say.
  void advance(const Step& step, int rank, i64 next, const std::vector<Segment>& places) {
    Opening& opening = openings_[index(step.handle)];
    if (step.positioning == Positioning::kExplicit) return;
    i64& pointer = step.positioning == Positioning::kIndividual ? opening.individual[index(rank)]
                                                                : opening.shared[index(colour(step.handle, rank))];
    if (!step.write && !places.empty() && places.back().at + places.back().bytes > size_for(step.handle, rank).first) {
      pointer = kUnknown;
    } else if (pointer != kUnknown) {
      pointer = next;
    }
  }

  void write(const Step& step, int rank, const std::vector<Segment>& places) {
    Content& content = content_of(step.handle);
    const int effect = static_cast<int>(content.effects.size());
    Effect made;
    made.rank = rank;
    made.opening = step.handle;
    made.colour = colour(step.handle, rank);
    made.atomic = opening(step.handle).atomic;
    made.failed = failed(rank);
    made.key = key_of(step.id, rank);
    const bool lasts = made.failed && !story_->over;
    if (step.synchronism == Synchronism::kBlocking && !lasts) made.done = now_;
    content.effects.push_back(made);
    if (step.synchronism != Synchronism::kBlocking && !lasts)
      under_way_[{step.id, rank}] = {opening(step.handle).open.file, effect};
    content.write(places, effect, {rank, step.handle}, *this);
    if (places.empty()) return;
    const i64 end = places.back().at + places.back().bytes;
    content.grow(end, effect);
    overtake(content, rank, places, end);
  }

  // What others read at the same time may be the old or the new bytes.
  void overtake(Content& content, int rank, const std::vector<Segment>& places, i64 end) {
    for (Look& look : content.looks) {
      if (look.done != kUnderWay && clocks_[index(rank)][index(look.rank)] >= look.done) continue;
      look.high = std::max(look.high, end);
      if (look.data.empty()) continue;
      size_t stream = 0;
      auto other = places.begin();
      for (const Segment& place : look.places) {
        while (other != places.end() && other->at + other->bytes <= place.at) ++other;
        for (auto it = other; it != places.end() && it->at < place.at + place.bytes; ++it) {
          const i64 low = std::max(it->at, place.at), high = std::min(it->at + it->bytes, place.at + place.bytes);
          for (i64 i = low; i < high; ++i) look.data[stream + index(i - place.at)].key = kAnything;
        }
        stream += index(place.bytes);
      }
    }
  }

  void read(const Step& step, int rank, const std::vector<Segment>& places) {
    if (failed(rank)) {
      Expected& expected = plans_[index(now_)].ranks[index(rank)];
      expected.least = 0;
      expected.data.assign(index(expected.bytes), Want{kAnything, 0});
      return;
    }
    Look look;
    look.rank = rank;
    look.opening = step.handle;
    look.step = now_;
    if (step.synchronism == Synchronism::kBlocking) look.done = now_;
    look.places = places;
    Content& content = content_of(step.handle);
    content.read(look, data_of_ < 0 || data_of_ == rank, *this);
    content.looks.push_back(std::move(look));
    if (step.synchronism != Synchronism::kBlocking) under_way_[{step.id, rank}] = {opening(step.handle).open.file, -1};
  }

  void look(const Step& step, Planned& planned) {
    const int file = step.op == Op::kVerify ? step.file : opening(step.handle).open.file;
    Content& content = contents_[index(file)];
    for (int r = 0; r < program_.ranks; ++r) {
      Expected& expected = planned.ranks[index(r)];
      if (step.op == Op::kVerify) expected.in = r == 0 && step.parts[0].in;
      if (!expected.in || failed(r)) continue;
      Look look;
      look.rank = r;
      look.opening = step.op == Op::kVerify ? -1 : step.handle;
      look.step = now_;
      look.done = now_;
      if (step.op == Op::kVerify) {
        const auto [low, high] = content.size({r, -1}, *this);
        look.places = {{0, std::min(high, std::max(content.touched(), std::min<i64>(low, 1 << 20)))}};
      }
      content.read(look, step.op == Op::kVerify && data_of_ <= 0, *this);
      content.looks.push_back(std::move(look));
    }
  }

  void complete(const Step& step, Planned&) {
    for (const int id : step.targets) {
      for (int r = 0; r < program_.ranks; ++r) {
        const auto found = under_way_.find({id, r});
        if (found == under_way_.end()) continue;
        Content& content = contents_[index(found->second.file)];
        if (found->second.effect >= 0) {
          content.effects[index(found->second.effect)].done = now_;
        } else {
          for (Look& look : content.looks) {
            if (look.rank == r && program_.steps[index(look.step)].id == id) look.done = now_;
          }
        }
        under_way_.erase(found);
      }
    }
  }

  void resize(const Step& step) {
    Content& content = content_of(step.handle);
    std::vector<bool> done(kMaxRanks, false);
    for (int r = 0; r < program_.ranks; ++r) {
      changing_colour_ = colour(step.handle, r);
      if (!step.parts[index(r)].in || done[index(changing_colour_)]) continue;
      done[index(changing_colour_)] = true;
      Effect made;
      made.opening = step.handle;
      made.colour = changing_colour_;
      const std::vector<int> ranks = ranks_of(step.handle, changing_colour_);
      made.failed = std::any_of(ranks.begin(), ranks.end(), [this](int rank) { return failed(rank); });
      made.done = made.failed && !story_->over ? kUnderWay : now_;
      const int effect = static_cast<int>(content.effects.size());
      content.effects.push_back(made);
      if (step.op == Op::kSetSize) {
        content.set_size(step.value, effect, {-1, step.handle}, *this);
      } else {
        content.grow(step.value, effect);
      }
      for (Look& look : content.looks) {  // legalise has put a barrier before: what is left is under way
        look.high = std::max(look.high, step.value);
        if (step.op == Op::kSetSize) look.low = std::min(look.low, step.value);
      }
    }
  }

  void seek(const Step& step, Planned& planned) {
    for (int r = 0; r < program_.ranks; ++r) {
      const Part& part = step.parts[index(r)];
      i64& pointer = openings_[index(step.handle)].individual[index(r)];
      if (!part.in) continue;
      i64 base = step.whence == Whence::kCurrent ? pointer : 0;
      if (step.whence == Whence::kEnd) base = end_in_etypes(step.handle, r);
      planned.ranks[index(r)].in = base != kUnknown && base + part.offset >= 0;
      if (planned.ranks[index(r)].in) pointer = base + part.offset;
    }
  }

  [[nodiscard]] i64 end_in_etypes(int handle, int rank) {
    const auto [low, high] = size_for(handle, rank);
    const ViewOfRank& view = opening(handle).views[index(rank)];
    const Map& map = program_.map(view.filetype);
    if (low != high || map.extent <= 0) return kUnknown;
    const i64 end = low - view.displacement;
    if (end <= 0) return 0;
    i64 bytes = end / map.extent * map.size;
    for (const Segment& segment : map.segments) {
      bytes += std::clamp<i64>(end % map.extent - segment.at, 0, segment.bytes);
    }
    return bytes % view.etype_bytes == 0 ? bytes / view.etype_bytes : kUnknown;
  }

  const Program& program_;
  const Story* story_;
  int data_of_, now_ = 0, changing_colour_ = 0;
  i64 asked_ = 0;
  std::array<Clock, kMaxRanks> clocks_{};
  std::vector<Opening> openings_;
  std::vector<Content> contents_;
  std::map<std::pair<int, int>, UnderWay> under_way_;
  std::vector<Planned> plans_;
};

}  // namespace

std::vector<Planned> plan(const Program& program, int rank) {
  return Pass(program, rank, nullptr).run();
}

std::vector<Planned> plan(const Program& program, const Story& story) {
  Program made = program;
  for (size_t i = 0; i < made.steps.size(); ++i) {
    for (size_t r = 0; r < made.steps[i].parts.size(); ++r) made.steps[i].parts[r].in &= story.came[i][r] != Came::kNotMade;
  }
  return Pass(made, -1, &story).run();
}

}  // namespace mercutio::programs

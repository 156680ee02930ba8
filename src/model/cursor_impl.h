// The steps of a Cursor, inline for the copy loops. Internal to src/model.
#pragma once

#include "model/flat_node.h"

namespace mercutio {

struct CursorImpl {
  using Kind = FlatNode::Kind;

  static void descend(Cursor& c, const FlatNode* n, i64 origin, i64 rest);
  static void advance(Cursor& c);
  static StridedRun next(Cursor& c, i64 max_bytes, i64 max_count);

  // The offset of the next byte. Precondition: !done().
  static i64 next_offset(const Cursor& c) {
    const Cursor::Level& l = c.stack_.back();
    const i64 offset = l.origin + l.sub_index;
    if (l.node->kind == Kind::kStrided) return offset + l.index * l.node->stride;
    return l.node->kind == Kind::kRuns ? offset + l.node->offset_at(l.index) : offset;
  }

  // The next pieces of the leaf on top of the stack, not coalesced with the following ones.
  static StridedRun take(Cursor& c, i64 max_bytes, i64 max_count) {
    Cursor::Level& l = c.stack_.back();
    const FlatNode& n = *l.node;
    const i64 most = std::min(max_bytes, c.end_ - c.position_);
    StridedRun run;
    run.offset = next_offset(c);
    i64 piece = n.size;
    run.basic = n.basic;
    if (n.kind == Kind::kStrided) {
      piece = n.child->size;
      run.basic = n.child->basic;
    } else if (n.kind == Kind::kRuns) {
      piece = n.entry_bytes(l.index);
    }
    if (n.kind == Kind::kStrided && l.sub_index == 0 && most >= piece) {
      run.bytes = piece;
      run.count = l.limit - l.index;
      if (run.count * piece > most) run.count = most / piece;
      run.count = std::min(run.count, max_count);
      run.stride = run.count > 1 ? n.stride : 0;
      l.index += run.count;
    } else {
      run.bytes = std::min(piece - l.sub_index, most);
      l.sub_index += run.bytes;
      if (l.sub_index == piece) {
        l.sub_index = 0;
        ++l.index;
      }
    }
    c.position_ += run.bytes * run.count;
    if (l.index == l.limit && c.position_ < c.end_) advance(c);
    return run;
  }

  // Whether the leaf is a list of runs of at most 512 bytes on average.
  static bool small_runs(const Cursor& c) {
    const FlatNode& n = *c.stack_.back().node;
    return n.kind == Kind::kRuns && n.size / n.entries() <= 512;
  }

  // Whether all tiled copies together are one run.
  static bool is_dense(const Cursor& c) { return c.stack_.size() == 1 && c.stack_.back().node->kind == Kind::kRun; }

  // If the leaf on top is a list of runs: passes the complete runs within `bytes` to the sink and returns their bytes.
  // For 8-byte pieces this is several times faster than one take() per piece.
  template <class Sink>
  static i64 take_runs(Cursor& c, i64 bytes, Sink& sink) {
    Cursor::Level& l = c.stack_.back();
    const FlatNode& n = *l.node;
    if (n.kind != Kind::kRuns || l.sub_index != 0) return 0;
    bytes = std::min(bytes, c.end_ - c.position_);
    i64 moved = 0;
    n.offsets.visit([&](auto offsets) {
      if (n.bytes.empty()) {
        const i64 count = std::min(n.entries() - l.index, bytes / n.unit);
        sink.equal_pieces(l.origin, offsets, l.index, l.index + count, n.unit);
        l.index += count;
        moved = count * n.unit;
        return;
      }
      n.bytes.visit([&](auto bytes_of) {
        Sink local = sink;   // the moved bytes may alias memory: copies in local variables stay in registers
        const i64 origin = l.origin, end = n.entries();
        i64 i = l.index, left = bytes;
        for (i64 piece; i < end && (piece = bytes_of[i]) <= left; ++i, left -= piece) local.piece(origin + offsets[i], piece);
        sink = local;
        l.index = i;
        moved = bytes - left;
      });
    });
    c.position_ += moved;
    if (l.index == l.limit && c.position_ < c.end_) advance(c);
    return moved;
  }
};

}  // namespace mercutio

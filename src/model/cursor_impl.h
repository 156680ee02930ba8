// The steps of a Cursor, inline for the copy loops. Internal to src/model.
#pragma once

#include "model/flat_node.h"

namespace mercutio {

struct CursorImpl {
  using Kind = FlatNode::Kind;

  static void descend(Cursor& c, const FlatNode* n, i64 origin, i64 rest);
  static void advance(Cursor& c);
  static StridedRun next(Cursor& c, i64 max_bytes, i64 max_count);

  // Where the next byte lies. Precondition: !done().
  static i64 next_offset(const Cursor& c) {
    const Cursor::Level& l = c.stack_.back();
    const i64 offset = l.origin + l.sub_index;
    if (l.node->kind == Kind::kStrided) return offset + l.index * l.node->stride;
    return l.node->kind == Kind::kRuns ? offset + l.node->offset_at(l.index) : offset;
  }

  // The next pieces of the leaf on top, not coalesced with what follows.
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
      run.count = std::min({l.limit - l.index, most / piece, max_count});
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
};

}  // namespace mercutio

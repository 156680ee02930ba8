// Cursor: a stack of (node, index) from the tiled root down to a leaf: a run, a strided set of runs or a list of runs.
// Seeking descends once, O(depth log entries); stepping is O(1) amortised; a batch costs the same as one piece.
#include "model/cursor_impl.h"

namespace mercutio {

void CursorImpl::descend(Cursor& c, const FlatNode* n, i64 origin, i64 rest) {
  for (;;) {
    Cursor::Level& l = c.stack_.push_back(Cursor::Level{n, 0, 0, 1, origin});
    switch (n->kind) {
      case Kind::kRun:
        l.sub_index = rest;
        return;
      case Kind::kStrided:
        l.limit = n->count;
        if (rest > 0) {
          l.index = rest / n->child->size;
          rest -= l.index * n->child->size;
        }
        if (n->leaf) {
          l.sub_index = rest;
          return;
        }
        origin += l.index * n->stride;
        n = n->child.get();
        break;
      default:
        if (rest > 0) {
          l.index = n->entry_of(rest);
          rest -= n->before(l.index);
        }
        if (n->kind == Kind::kRuns) {
          l.limit = n->entries();
          l.sub_index = rest;
          return;
        }
        origin += n->offset_at(l.index);
        if (n->kind == Kind::kStruct) {
          l.limit = n->entries();
          n = &n->child_at(l.index);
          break;
        }
        l.limit = n->entry_bytes(l.index) / n->child->size;
        if (rest > 0) {
          l.sub_index = rest / n->child->size;
          rest -= l.sub_index * n->child->size;
        }
        origin += l.sub_index * n->stride;
        n = n->child.get();
    }
  }
}

// The leaf on top is used up: step to the next one. The level of the leaf is reused where its sibling is a leaf too.
void CursorImpl::advance(Cursor& c) {
  while (c.stack_.size() > 1) {
    Cursor::Level& l = c.stack_[c.stack_.size() - 2];
    const FlatNode& n = *l.node;
    const FlatNode* child = n.child.get();
    i64 origin = l.origin;
    bool more = true;
    if (n.kind == Kind::kStrided) {
      more = ++l.index < l.limit;
      origin += l.index * n.stride;
    } else if (n.kind == Kind::kStruct) {
      more = ++l.index < l.limit;
      if (more) {
        child = &n.child_at(l.index);
        origin += n.offset_at(l.index);
      }
    } else if (++l.sub_index < l.limit) {  // kBlocks, the same entry
      origin += n.offset_at(l.index) + l.sub_index * n.stride;
    } else if (++l.index < n.entries()) {
      l.sub_index = 0;
      l.limit = n.bytes.empty() ? 1 : n.entry_bytes(l.index) / child->size;
      origin += n.offset_at(l.index);
    } else {
      more = false;
    }
    if (more && child->leaf) {
      c.stack_.back() = {child, 0, 0,
                         child->kind == Kind::kRun    ? 1
                         : child->kind == Kind::kRuns ? child->entries()
                                                      : child->count,
                         origin};
      return;
    }
    c.stack_.pop_back();
    if (more) return descend(c, child, origin, 0);
  }
  c.stack_.clear();
}

Cursor::Cursor(FlatTypeRef type, i64 origin, i64 begin, i64 end)
    : type_(std::move(type)), origin_(origin), end_(end), position_(begin) {
  if (!type_ || type_->size() == 0) end_ = position_ = 0;
  seek(position_);
}

void Cursor::seek(i64 position) {
  position_ = position;
  stack_.clear();
  if (done()) return;
  stack_.reset(static_cast<std::size_t>(type_->tiled_->depth));
  CursorImpl::descend(*this, type_->tiled_.get(), origin_ + type_->first_, position);
}

StridedRun Cursor::next(i64 max_bytes, i64 max_count) {
  return CursorImpl::next(*this, max_bytes, max_count);
}

StridedRun CursorImpl::next(Cursor& c, i64 max_bytes, i64 max_count) {
  if (!c.type_->tiled_->touches) return take(c, max_bytes, max_count);
  // The last piece of a leaf may touch the first of the next one: it comes alone, and grows.
  const Cursor::Level& l = c.stack_.back();
  const i64 left = l.limit - l.index;
  if (left > 1 && max_count > left - 1) max_count = left - 1;
  StridedRun run = take(c, max_bytes, max_count);
  while (run.count == 1 && run.bytes < max_bytes && !c.done() && next_offset(c) == run.offset + run.bytes)
    run.bytes += take(c, max_bytes - run.bytes, 1).bytes;
  return run;
}

}  // namespace mercutio

#include "tree/handlers/frame_handlers.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

std::optional<MirrorPages> mirror_of(TargetContext& context) {
  if (context.tree == nullptr || !context.settings().sync.enabled) return std::nullopt;
  return std::optional<MirrorPages>(std::in_place, context);
}

}  // namespace

FrameHandlers::FrameHandlers(TargetContext& context)
    : context_(context),
      small_files_(context),
      mirror_(mirror_of(context)),
      read_back_(context),
      writer_(context, read_back_),
      opener_(context, writer_, mirror_ ? &mirror_->comparer() : nullptr),
      committer_(context, writer_, mirror_ ? &mirror_->comparer() : nullptr),
      probes_(context, writer_, read_back_) {}

FrameHandlers::Slot::Slot(FrameHandlers& handlers) {
  if (handlers.context_.read_back != nullptr) archive.emplace(handlers.context_, handlers.small_files_);
}

io::Step<AckStatus> FrameHandlers::handle(const net::Frame& frame, std::span<const std::byte> payload,
                                          Slot& slot) {
  AckStatus status = AckStatus::done;
  switch (frame.kind) {
    case FrameKind::archive:
      if (!slot.archive) co_return small_files_.unpack(payload);
      status = co_await slot.archive->unpack(payload);
      break;
    case FrameKind::compare:
      co_return mirror_->compare(frame, payload, slot.verdicts);
    case FrameKind::names:
      co_return mirror_->prune(frame, payload, slot.verdicts);
    case FrameKind::open:
      co_return opener_.open(frame, payload);
    case FrameKind::data:
      status = co_await writer_.write(frame, slot.memory);
      break;
    case FrameKind::copy_range:
      co_return writer_.copy_range(frame);
    case FrameKind::probe:
      status = co_await probes_.probe(frame, payload, room_of(slot.memory), slot.verdicts);
      break;
    case FrameKind::ask:
      status = co_await probes_.ask(frame, slot.memory, slot.verdicts);
      break;
    case FrameKind::commit:
      co_return committer_.commit(frame, payload);
    case FrameKind::abandon:
      context_.session.files.open.take(frame.file_id);
      break;
    case FrameKind::lost:
    case FrameKind::end:
    case FrameKind::credit:
      break;  // the worker's, or what no job agrees on
  }
  co_return status;
}

void FrameHandlers::take_back(const CachedReply& reply) {
  if (reply.frame.kind == FrameKind::open) context_.session.files.open.take(reply.frame.file_id);
  writer_.take_back(reply);
}

}  // namespace rdcp::tree

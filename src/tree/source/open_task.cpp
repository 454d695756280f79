// The opening of a large file: how it is read, and what the target has to know of it.
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <ctime>
#include <utility>

#include "tree/source/tasks.h"
#include "tree/walk/stability.h"
#include "tree/walk/travels.h"

namespace rdcp::tree {

using net::AckStatus;

namespace {

// Another file, size or time gives another one; the ctime moves even where a writer sets the mtime back.
io::Digest token_of(const struct stat& status) {
  const std::array<std::int64_t, 6> facts{static_cast<std::int64_t>(status.st_ino),
                                          status.st_size,
                                          status.st_mtim.tv_sec,
                                          status.st_mtim.tv_nsec,
                                          status.st_ctim.tv_sec,
                                          status.st_ctim.tv_nsec};
  return io::digest_of(std::as_bytes(std::span(facts)));
}

OpenAnswer open_answer(AckStatus status, const TaskContext& context) {
  switch (status) {
    case AckStatus::done:
      return {.usable = true};
    case AckStatus::in_turn:
      return {.usable = true, .one_worker = !context.needs_all_streams};
    case AckStatus::has_basis:
      return {.usable = true, .spans = Spans::probe};
    case AckStatus::has_like:
      return {.usable = true, .spans = Spans::like};
    case AckStatus::has_part:
      return {.usable = true, .spans = Spans::ask};
    case AckStatus::unsupported:
      return {.cannot_compare = true};
    default:
      return {};
  }
}

// How to read what was open already. Where extents do not begin at a page, O_DIRECT does not take them.
io::RingFile choose_given(const Root& root, const OpenedFile& opened, io::CacheMode cache) {
  if (!root.begin) return io::RingFile{.fd = opened.fd.get()};
  const bool aligned = opened.begin % io::kPageBytes == 0;
  return io::choose_source(opened.fd.get(), opened.begin + opened.size,
                           aligned ? cache : io::CacheMode::keep);
}

// A SRC that was open already: a pipe, a device, standard input.
void plan_given(const FileTransfer& file, OpenedFile& opened, const SourceSession& session) {
  opened.status.st_mode = S_IFREG | session.terms().new_mode;
  opened.file = choose_given(file.item().root(), opened, session.settings().cache);
  opened.file.live = file.is_byte_stream() && session.terms().in_order;
  ::clock_gettime(CLOCK_REALTIME, &opened.status.st_mtim);
}

// Plans the transfer of a regular file that was looked up. Returns false if it cannot be sent, which has been
// reported.
bool plan_regular(const FileTransfer& file, OpenedFile& opened, net::Frame& frame, SourceSession& session) {
  const std::string subject = file.item().subject();
  if (!S_ISREG(opened.status.st_mode)) {
    session.reporter().problem(io::plain_error(io::ErrorKind::file, "copy", subject, "is no longer a file"));
    return false;
  }
  if (static_cast<std::uint64_t>(opened.status.st_size) >= kUnknownSize) {
    session.reporter().problem(io::errno_error("copy", subject, EFBIG));
    return false;
  }
  if (file.is_byte_stream()) {
    opened.file = {.fd = opened.fd.get()};
    return true;
  }
  opened.size = static_cast<std::uint64_t>(opened.status.st_size);
  const bool sends_holes = session.terms().sends_holes || file.sends_holes();
  opened.sparse = !sends_holes && opened.status.st_blocks * 512 < opened.status.st_size;
  opened.file = io::choose_source(opened.fd.get(), opened.size, session.settings().cache);
  // A copy within the kernel has no digest to be verified by.
  opened.by_kernel = session.job().streams.connect == Connect::in_process && !session.settings().verify;
  if (opened.sparse) frame.flags = net::kFlagSparse;
  frame.extra = token_of(opened.status);
  return true;
}

bool compares_first(const FileTransfer& file, const SourceSession& session) {
  const bool regular = !file.item().root().opened && !file.is_byte_stream();
  return session.settings().checksum && regular && !file.was_compared() &&
         is_compared_open(file.item().status, session.digest_max());
}

}  // namespace

FilledSlot fill(OpenTask& task, std::span<std::byte> slot, TaskContext& context) {
  const Stopwatch watch(context.times.read_busy_ns);
  const FilledSlot failed(FilledSlot::State::failed);
  SourceSession& session = context.session;
  FileTransfer& file = *task.file;
  const Item& item = file.item();
  session.totals().show_path(item.subject());
  OpenedFile opened = file.take_opened();
  if (!opened.fd) {
    opened.fd = item.root().open(item.local_path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  }
  if (!opened.fd || ::fstat(opened.fd.get(), &opened.seen) != 0) {
    session.reporter().problem(io::errno_error("open", item.subject()));
    return failed;
  }
  opened.status = opened.seen;
  if (S_ISREG(opened.seen.st_mode)) wait_for_next_tick(opened.seen);
  net::Frame frame = bare_frame(net::FrameKind::open, file.id());
  if (item.root().opened) {
    plan_given(file, opened, session);
  } else if (!plan_regular(file, opened, frame, session)) {
    return failed;
  }
  if (session.terms().read_beside) opened.file.beside = std::exchange(opened.file.resident, false);
  const bool compares = compares_first(file, session);
  if (compares) frame.flags |= net::kFlagCompare;
  frame.offset = file.is_byte_stream() ? kUnknownSize : opened.size;
  file.set_opened(std::move(opened), compares);
  const std::size_t length = context.packer.pack_header(file, slot);
  return length == 0 ? failed : with_digest(frame, slot, length, context);
}

std::optional<Task> settle(OpenTask& task, const SlotAnswer& answer, TaskContext& context) {
  OpenAnswer opened = open_answer(answer.status, context);
  opened.written_in_place = context.session.settings().inplace;
  if (!opened.usable) task.file->close();
  Plan& plan = context.session.plan();
  if (!opened.usable && !opened.cannot_compare) plan.linked().pass_on(task.file->item());
  plan.settle_open(task.file, opened);
  return std::nullopt;
}

}  // namespace rdcp::tree

#include "tree/handlers/verified_archive.h"

#include <utility>

namespace rdcp::tree {

using net::AckStatus;

namespace {

// Bounds the files that are open at one time.
constexpr std::size_t kGroup = 128;

}  // namespace

VerifiedArchive::VerifiedArchive(TargetContext& context, SmallFiles& files)
    : context_(context), files_(files), reader_(context.session.guards.admitted) {}

io::Step<AckStatus> VerifiedArchive::unpack(std::span<const std::byte> chunk) {
  over_ = false;
  named_bytes_ = 0;
  all_put_ = true;
  if (const auto opened = reader_.open(chunk); !opened) {
    context_.fail(opened.error());
    co_return AckStatus::refused;
  }
  AckStatus status = AckStatus::done;
  while (status == AckStatus::done && write_some()) {
    while (group_.pending > 0) co_await context_.read_back->wait();
    status = name_written();
  }
  // Not before: an archive that is sent again would be counted twice.
  if (status == AckStatus::done) context_.session.tally.bytes += named_bytes_;
  if (status != AckStatus::done) context_.session.earlier.expect_repeats();
  co_return status == AckStatus::done ? context_.answer_of(all_put_) : status;
}

// Takes up the archive's next entries. Returns false if none are left, or if the run has ended.
bool VerifiedArchive::write_some() {
  parts_.clear();
  while (!over_ && parts_.size() < kGroup && !context_.giving_up()) {
    Part& part = parts_.emplace_back();
    const auto more = context_.next_entry(reader_, part.entry);
    if (!more) context_.fail(more.error());
    if (!more || !*more) {
      parts_.pop_back();
      over_ = true;
      break;
    }
    if (part.entry.type != EntryType::file || part.entry.attributes_only) continue;
    auto written = context_.tree->write_file(part.entry, reader_, &part.check.blocks);
    if (!written) {
      settle(part.entry, written.error());
      parts_.pop_back();
      continue;
    }
    part.written = std::move(*written);
    part.check.size = part.entry.size;
    part.check.from = turn_to_read_back(part.written->file.fd());
    if (!part.check.from.from_disk) context_.session.tally.read_from_cache = true;
    context_.read_back->add(part.check, group_);
  }
  return !parts_.empty();
}

bool VerifiedArchive::settle(const Entry& entry, const io::Result<void>& put) {
  const bool is_put = files_.settle(entry, put);
  all_put_ = all_put_ && is_put;
  return is_put;
}

// Files that were read back as they came get their names; if one was not, the whole archive is sent again.
AckStatus VerifiedArchive::name_written() {
  for (const Part& part : parts_) {
    if (part.check.equal) continue;
    const std::string subject = context_.tree->subject(part.entry.path);
    if (part.check.error == 0) {
      context_.session.tally.note_misread(subject);
      parts_.clear();
      return AckStatus::bad_digest;
    }
    settle(part.entry, io::errno_error("read back", subject, part.check.error));
  }
  for (Part& part : parts_) {
    if (context_.giving_up()) break;
    if (!part.check.equal) continue;
    const auto put =
        part.written ? context_.tree->name_file(part.entry, *part.written) : files_.put(part.entry, reader_);
    if (settle(part.entry, put)) named_bytes_ += part.entry.size;
  }
  parts_.clear();
  return context_.done_unless_refusing();
}

}  // namespace rdcp::tree

// What --verify adds to a target: bytes that are read back from the disk before they count as written.
#include <utility>

#include "tree/target_worker.h"

namespace rdcp::tree {

using net::AckStatus;

// Takes up the archive's next entries. False: there are none left, or the run is over (reported).
bool TargetWorker::write_some(CheckedArchive& archive) {
  if (target_.only_file_mode_) {
    protocol_error("an archive where one stream was agreed on");
    return false;
  }
  const auto opened =
      std::exchange(archive.opened, true) ? io::Result<void>() : archive.reader.open(archive.chunk);
  if (!opened) fail(opened.error());
  archive.parts.clear();
  while (opened && !archive.over && archive.parts.size() < CheckedArchive::kGroup && !giving_up()) {
    CheckedArchive::Part& part = archive.parts.emplace_back();
    const auto more = archive.reader.next(part.entry);
    if (!more) fail(more.error());
    if (!more || !*more) {
      archive.parts.pop_back();
      archive.over = true;
      break;
    }
    if (part.entry.type != EntryType::file) continue;
    auto written = tree_->write_file(part.entry, archive.reader, &part.check.blocks);
    if (!written) {
      report(written.error());
      archive.parts.pop_back();
      continue;
    }
    part.written = std::move(*written);
    part.check.size = part.entry.size;
    part.check.from = turn_to_read_back(part.written->file.fd());
    if (!part.check.from.from_disk) target_.read_from_cache_ = true;
    read_back_->add(part.check, archive.group);
  }
  return !archive.parts.empty();
}

// What of them was read back as it came gets its name; else the whole archive is sent again.
AckStatus TargetWorker::name_written(CheckedArchive& archive) {
  for (CheckedArchive::Part& part : archive.parts) {
    if (part.check.equal) continue;
    const std::string subject = tree_->subject(part.entry.path);
    if (part.check.error == 0) {
      target_.note_misread(subject);
      archive.parts.clear();
      return AckStatus::bad_digest;
    }
    report(io::errno_error("read back", subject, part.check.error));
  }
  for (CheckedArchive::Part& part : archive.parts) {
    if (giving_up()) break;
    if (!part.check.equal) continue;
    const auto put = part.written                              ? tree_->name_file(part.entry, *part.written)
                     : part.entry.type == EntryType::directory ? tree_->finish_directory(part.entry)
                                                               : tree_->put_special(part.entry);
    if (!put) {
      report(put.error());
    } else {
      archive.named_bytes += part.entry.size;
    }
  }
  archive.parts.clear();
  return target_.refusing() ? AckStatus::refused : AckStatus::done;
}

// A chunk of a large file, as it was read back. Not as it came: it is sent again, and written once more.
AckStatus TargetWorker::found(TargetFile& file, const net::Frame& frame, const io::IoResult& read,
                              std::span<const std::byte> bytes) {
  if (read.error != 0) {
    if (file.fail()) report(io::errno_error("read back", file.subject, read.error));
    return AckStatus::refused;
  }
  const Stopwatch watch(times_.digest_ns);
  if (read.bytes >= frame.length && io::digest_of(bytes.first(frame.length)) == frame.digest) {
    return AckStatus::done;
  }
  target_.note_misread(file.subject);
  return AckStatus::bad_digest;
}

}  // namespace rdcp::tree

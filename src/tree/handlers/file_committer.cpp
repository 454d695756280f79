#include "tree/handlers/file_committer.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/retry.h"
#include "tree/fs/heard_close.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

FileCommitter::FileCommitter(TargetContext& context, FileWriter& writer, Comparer* comparer)
    : context_(context), writer_(writer), comparer_(comparer), reader_(context.session.guards.admitted) {}

AckStatus FileCommitter::commit(const net::Frame& frame, std::span<const std::byte> header) {
  Entry entry;
  if (!context_.read_header(reader_, header, entry)) return AckStatus::refused;
  const TargetFileRef file = context_.session.files.open.take(frame.file_id);
  if (file == nullptr || entry.path != file->path || frame.offset > file->size) {
    context_.protocol_error("a commit that does not fit its file");
    return AckStatus::refused;
  }
  if (context_.session.guards.ledger) context_.session.guards.ledger->entries.remove(file->path.text());
  if (file->value() != frame.extra) {
    writer_.drop_part(*file);
    context_.fail(io::plain_error(ErrorKind::digest, "write", file->subject,
                                  "the digest of the whole file does not match"));
    return AckStatus::refused;
  }
  if (file->has_failed() || lacks_something(*file, frame.offset)) return AckStatus::refused;
  if (!file->has_name() && !file->compares) return AckStatus::done;
  // A slot of another stream knows the file by its descriptor's number, which would soon be another file's.
  if (file.use_count() > 1) {
    context_.protocol_error("a commit of a file that is still written or compared");
    return AckStatus::refused;
  }
  const auto put =
      file->compares ? keep_equal(*file, entry, frame.offset) : finish(*file, entry, frame.offset);
  if (!put) context_.report(put.error());
  return put && context_.has_put_for_good() ? AckStatus::done : AckStatus::refused;
}

// Returns true, and reports it, if something that was said to be missing has not come: a host between the
// source and this one has answered for it.
bool FileCommitter::lacks_something(TargetFile& file, std::uint64_t size) {
  if (!file.lacks_before(size)) return false;
  context_.report(
      io::plain_error(ErrorKind::digest, "write", file.subject,
                      "parts of it are missing, and were not sent: what this host has said of them "
                      "did not reach the source"));
  return true;
}

io::Result<void> FileCommitter::set_metadata(int fd, const Entry& entry, const std::string& subject) {
  return apply_metadata(fd, entry, ~0u, context_.session.metadata(), subject);
}

// The file was compared, and is equal; its metadata may not be. They are those of the commit, which need not
// be those that it was opened with, and it may have got other names since.
io::Result<void> FileCommitter::keep_equal(TargetFile& file, const Entry& entry, std::uint64_t size) {
  if (size != file.size || file.old->has_changed()) {
    return io::plain_error(ErrorKind::file, "compare", file.subject, "the file was changed meanwhile");
  }
  const int fd = file.old->fd.get();
  auto may_set = may_set_metadata(fd, EntryType::file, file.subject);
  const bool has_them = !may_set && comparer_ != nullptr && comparer_->has_metadata_of(entry);
  if (!may_set && !has_them) return may_set;
  context_.session.tally.bytes += size;
  if (has_them) return {};
  if (auto set = set_metadata(fd, entry, file.subject); !set) return set;
  return context_.tree->flush_elsewhere(fd, file.subject);
}

io::Result<void> FileCommitter::finish(TargetFile& file, const Entry& entry, std::uint64_t size) {
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) return io::errno_error("stat", file.subject);
  if (static_cast<std::uint64_t>(status.st_size) != size &&
      io::retry_eintr([&] { return ::ftruncate(file.fd(), static_cast<off_t>(size)); }) != 0) {
    return io::errno_error("truncate", file.subject);
  }
  if (file.old != nullptr && file.old->was_cloned && file.old->has_changed()) {
    return io::plain_error(ErrorKind::file, "write", file.subject,
                           "the old file, of which parts were taken over, was changed meanwhile");
  }
  return file.opened ? finish_new(file, entry, size) : finish_overwritten(file, entry);
}

// With --inplace. close() is heard before the file gets the times by which a later run takes it for whole.
io::Result<void> FileCommitter::finish_overwritten(TargetFile& file, const Entry& entry) {
  if (auto heard = hear_close(file.fd(), file.subject); !heard) return heard;
  if (auto set = set_metadata(file.fd(), entry, file.subject); !set) return set;
  if (auto flushed = context_.tree->flush_elsewhere(file.fd(), file.subject); !flushed) return flushed;
  if (file.overwritten.close() != 0) return io::errno_error("close", file.subject);
  return {};
}

io::Result<void> FileCommitter::finish_new(TargetFile& file, const Entry& entry, std::uint64_t size) {
  if (auto set = set_metadata(file.fd(), entry, file.subject); !set) return set;
  TargetTree& tree = *context_.tree;
  UnnamedFile& unnamed = file.opened->file;
  auto done = tree.flush(unnamed.fd(), file.subject);
  if (done) done = unnamed.hear_close(file.subject);
  if (!done) {
    // Bytes that did not get to the disk are not in the page cache either by then.
    writer_.drop_part(file);
    return done;
  }
  const int directory = file.opened->directory.get();
  Entry put = entry;
  put.path = file.path;
  put.size = size;
  done = tree.publish(directory, put, [&](const std::string& name) {
    return unnamed.publish(directory, name, file.subject);
  });
  if (done) done = unnamed.close(file.subject);
  if (done && file.opened->part) done = tree.beside(file.path, file.opened->part->forget_journal());
  return done;
}

}  // namespace rdcp::tree

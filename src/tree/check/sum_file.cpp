#include "tree/check/sum_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "io/write_all.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"

namespace rdcp::tree {

using io::Result;

namespace {

constexpr std::size_t kWriteBytes = 64 << 10;
// Paths may be longer than PATH_MAX, because they are walked step by step.
constexpr std::size_t kLineBytesMax = 1 << 20;

}  // namespace

Result<SumReader> SumReader::open(const std::string& path, SumForm form) {
  const auto place = io::find_named(path, true);
  if (!place) return place.error();
  io::Fd fd(::openat(place->directory.get(), place->name.c_str(),
                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return io::errno_error("open", path);
  if (!S_ISREG(status.st_mode)) {
    return io::plain_error(io::ErrorKind::file, "open", path, "is not a regular file");
  }
  SumReader reader;
  reader.path_ = path;
  reader.form_ = form;
  reader.file_.reset(::fdopen(fd.get(), "r"));
  if (reader.file_ == nullptr) return io::errno_error("open", path);
  (void)fd.release();
  if (auto begun = reader.begin(); !begun) return begun.error();
  return reader;
}

Result<SumReader> SumReader::of_text(std::string text, const std::string& path, SumForm form) {
  SumReader reader;
  reader.path_ = path;
  reader.form_ = form;
  reader.text_ = std::make_unique<const std::string>(std::move(text));
  if (!reader.text_->empty()) {  // fmemopen(3) opens nothing of no bytes
    reader.file_.reset(::fmemopen(const_cast<char*>(reader.text_->data()), reader.text_->size(), "r"));
    if (reader.file_ == nullptr) return io::errno_error("read", path);
  }
  if (auto begun = reader.begin(); !begun) return begun.error();
  return reader;
}

// Reads the first line of a manifest.
Result<void> SumReader::begin() {
  if (form_ == SumForm::xxhsum) return {};
  std::string head;
  const auto read = read_text(head);
  if (!read) return read.error();
  if (head == kManifestHead) return {};
  return io::plain_error(io::ErrorKind::file, "read", path_,
                         "is not a manifest: its first line is not \"rdcp-manifest 1\"");
}

// Reads one line, without its newline. A line that is too long is an error.
Result<bool> SumReader::read_text(std::string& text) {
  text.clear();
  ++line_;
  if (file_ == nullptr) return false;
  for (int c = std::getc(file_.get()); c != '\n'; c = std::getc(file_.get())) {
    if (c == EOF) {
      if (std::ferror(file_.get()) != 0) return io::errno_error("read", path_);
      return !text.empty();
    }
    if (text.size() == kLineBytesMax) {
      return io::plain_error(io::ErrorKind::file, "read", path_,
                             "line " + std::to_string(line_) + " is too long");
    }
    text += static_cast<char>(c);
  }
  return true;
}

Result<bool> SumReader::next(SumLine& line) {
  std::string text;
  do {
    const auto read = read_text(text);
    if (!read || !*read) return read;
  } while (text.empty());
  auto parsed = parse_sum_line(text, form_);
  if (!parsed) {
    return io::plain_error(io::ErrorKind::file, "read", path_,
                           "line " + std::to_string(line_) + " " + parsed.error().detail);
  }
  line = std::move(*parsed);
  return true;
}

Result<SumWriter> SumWriter::open(const std::string& path, SumForm form, mode_t mode) {
  auto place = io::find_named(path, false);
  if (!place) return place.error();
  struct stat status {};
  const bool exists =
      ::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    return io::plain_error(io::ErrorKind::file, "write", path, "exists and is not a regular file");
  }
  SumWriter writer;
  writer.path_ = path;
  writer.form_ = form;
  writer.place_ = std::move(*place);
  writer.temporary_name_ = take_temporary_name(writer.place_.name, [&](const char* name) {
    writer.fd_.reset(::openat(writer.place_.directory.get(), name,
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    return writer.fd_.get();
  });
  if (writer.temporary_name_.empty()) return io::errno_error("create", path);
  if (form == SumForm::manifest) writer.text_ = std::string(kManifestHead) + "\n";
  return writer;
}

SumWriter::~SumWriter() {
  if (place_.directory && !temporary_name_.empty()) (void)remove_own(place_.directory.get(), temporary_name_);
}

Result<void> SumWriter::add(const SumLine& line) {
  text_ += text_of(line, form_);
  return text_.size() >= kWriteBytes ? flush() : Result<void>();
}

Result<void> SumWriter::flush() {
  if (const int code = io::write_all(fd_.get(), text_)) return io::errno_error("write", path_, code);
  text_.clear();
  return {};
}

Result<void> SumWriter::publish() {
  if (auto written = flush(); !written) return written;
  if (fd_.close() < 0) return io::errno_error("close", path_);
  const int directory = place_.directory.get();
  if (rename_own(directory, temporary_name_, directory, place_.name) != 0) {
    return io::errno_error("name", path_);
  }
  temporary_name_.clear();
  return {};
}

}  // namespace rdcp::tree

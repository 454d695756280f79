#include "tree/check/checker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "io/arena.h"
#include "io/retry.h"
#include "io/whole_range.h"
#include "tree/check/attributes.h"

namespace rdcp::tree {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
// Bytes from the page cache are read in pieces that are digested while they are in the processor's cache.
constexpr std::size_t kCachedBytes = 256 << 10;
// The size of a page of a list, large enough to be worth a message.
constexpr std::size_t kPageEntries = 256;
constexpr std::size_t kPageTextBytes = 48 << 10;
// The number of readers: a few at least, because disks have to be waited for; otherwise as many as there are
// processors.
constexpr unsigned kReadersMin = 4;
constexpr unsigned kReadersMax = 16;

void fill_facts(const struct stat& status, SumFound& found) {
  found.type = type_of(status.st_mode);
  found.size = found.type == EntryType::file ? static_cast<std::uint64_t>(status.st_size) : 0;
  found.mtime = status.st_mtim.tv_sec;
  found.mtime_ns = static_cast<std::uint32_t>(status.st_mtim.tv_nsec);
}

std::optional<LookedAt::Reader> reader_of(const std::optional<LookedAt>& top) {
  return top ? std::optional<LookedAt::Reader>(std::in_place, *top) : std::nullopt;
}

bool is_missing(const io::Error& error) {
  return error.code == ENOENT || error.code == ENOTDIR;
}

}  // namespace

Checker::Checker(const ListJob& job, Reporter& reporter, Sinks sinks, const SourceWishes& wishes)
    : job_(job), policy_(policy_of(job)), reporter_(reporter), sinks_(std::move(sinks)) {
  auto top = LookedAt::open(job_.path, wishes.follow_links);
  if (top) {
    top_ = std::move(*top);
  } else if (is_missing(top.error())) {
    reporter_.problem(top.error());
  } else {  // nobody knows what is there
    reporter_.fatal(top.error());
    return;
  }
  if (!start([this] { list(); })) return;
  const unsigned readers = std::clamp(io::processors(), kReadersMin, kReadersMax);
  for (unsigned i = 0; i < readers && start([this] { read(); }); ++i) {
  }
}

// Returns false if no more threads can be started, which is reported unless there are enough to go on.
template <class Life>
bool Checker::start(Life life) {
  auto thread = io::Thread::start("a thread that reads", [this, life] {
    life();
    leave();
  });
  constexpr std::size_t kEnough = 2;  // one that lists, one that reads
  if (!thread && threads_.size() < kEnough) reporter_.fatal(thread.error());
  if (thread) threads_.push_back(std::move(*thread));
  return thread.ok();
}

Checker::~Checker() {
  stop();
  for (io::Thread& thread : threads_) thread.join();
}

void Checker::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
  work_.notify_all();
}

void Checker::leave() {
  std::lock_guard lock(mutex_);
  ++left_;
  changed_.notify_all();
}

bool Checker::has_ended(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return left_ == threads_.size(); });
}

void Checker::list_more(std::uint32_t pages) {
  std::lock_guard lock(mutex_);
  may_tell_ += pages;
  changed_.notify_all();
}

bool Checker::ask(SumAsk ask) {
  std::lock_guard lock(mutex_);
  if (asks_.size() >= kAsksMax) return false;
  asks_.push_back(std::move(ask));
  work_.notify_one();
  return true;
}

// Waits until one more page may be sent. Returns false if stopped.
bool Checker::may_list() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || may_tell_ > 0; });
  if (stopped_) return false;
  --may_tell_;
  return true;
}

void Checker::list() {
  std::optional<Lister> lister;
  if (top_) {
    lister.emplace(*top_, job_, names_, reporter_);
    lister->left_out = [this](const std::string& path) {
      sinks_.unlisted({.job = job_.number, .path = path});
    };
  }
  for (bool over = false; !over;) {
    if (!may_list()) return;
    Listed page;
    page.job = job_.number;
    std::size_t text = 0;
    while (!page.over && page.entries.size() < kPageEntries && text < kPageTextBytes) {
      ListedEntry entry;
      page.over = !lister || !lister->next(entry);
      if (page.over) break;
      text += entry.path.size() + entry.link_target.size();
      page.entries.push_back(std::move(entry));
    }
    over = page.over;
    {
      const std::lock_guard lock(mutex_);
      pages_.push_back({.listed = std::move(page), .read = !reads_pages()});
      if (reads_pages()) to_read_.push_back(&pages_.back());
    }
    if (reads_pages()) {
      work_.notify_one();
    } else {
      tell_pages();
    }
  }
}

// Reads pages first, because what the coordinator asks next depends on them, and only few are under way.
void Checker::read() {
  auto arena = io::Arena::create(1, kBufferBytes);
  if (!arena) {
    reporter_.fatal(arena.error());
    return;
  }
  for (;;) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return stopped_ || !to_read_.empty() || !asks_.empty(); });
    if (stopped_) return;
    if (!to_read_.empty()) {
      Page& page = *to_read_.front();
      to_read_.pop_front();
      lock.unlock();
      read_page(page, arena->slot(0));
    } else {
      const SumAsk ask = std::move(asks_.front());
      asks_.pop_front();
      lock.unlock();
      answer(ask, arena->slot(0));
    }
  }
}

void Checker::read_page(Page& page, std::span<std::byte> buffer) {
  std::optional<LookedAt::Reader> reader = reader_of(top_);  // there is one if there are entries
  for (ListedEntry& entry : page.listed.entries) {
    if (stopped_) return;
    const bool small = entry.type == EntryType::file && entry.size > 0 && entry.size <= kCachedBytes;
    const io::Fd fd = digests_small() && small ? reader->open(entry.path) : io::Fd();
    if (job_.attributes) fill_attributes(entry, *reader, fd.get());
    entry.has_digest = fd && digest_small(entry, fd.get(), buffer);
  }
  {
    const std::lock_guard lock(mutex_);
    page.read = true;
  }
  tell_pages();
}

// fd: the file if it is open, or -1.
void Checker::fill_attributes(ListedEntry& entry, LookedAt::Reader& reader, int fd) {
  const auto found =
      fd >= 0 ? attributes_of(fd, false, policy_, names_) : reader.attributes(entry.path, policy_, names_);
  if (!found) return reporter_.problem(io::about(top_->subject(entry.path), found.error()));
  entry.attributes = *found;
}

// Returns false if the file has changed since it was listed, or cannot be read. It was a regular file a
// moment ago, and what it may have become does not block when it is opened.
bool Checker::digest_small(ListedEntry& entry, int fd, std::span<std::byte> buffer) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<std::uint64_t>(status.st_size) != entry.size) return false;
  const std::span<std::byte> content = buffer.first(entry.size);
  if (io::read_range(fd, content, 0) != static_cast<ssize_t>(content.size())) return false;
  entry.digest = io::digest_of(content).bytes;
  return true;
}

// Sends pages from one thread at a time, which looks for more after each of them.
void Checker::tell_pages() {
  std::unique_lock lock(mutex_);
  if (std::exchange(telling_, true)) return;
  while (!pages_.empty() && pages_.front().read) {
    const Listed page = std::move(pages_.front().listed);
    pages_.pop_front();
    lock.unlock();
    sinks_.listed(page);
    lock.lock();
  }
  telling_ = false;
}

void Checker::answer(const SumAsk& ask, std::span<std::byte> buffer) {
  SumTold told;
  told.id = ask.id;
  std::optional<LookedAt::Reader> reader = reader_of(top_);
  for (const SumItem& item : ask.items) told.found.push_back(look(item, reader, buffer));
  sinks_.told(told);
}

SumFound Checker::look(const SumItem& item, std::optional<LookedAt::Reader>& reader,
                       std::span<std::byte> buffer) {
  SumFound found;
  // Checks before opening, because opening a device or a FIFO may have side effects.
  struct stat status {};
  if (!reader || !reader->stat(item.path, status)) {
    const bool missing = !reader || errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    found.state = missing ? SumState::missing : SumState::unreadable;
    if (!missing) reporter_.problem(io::errno_error("open", top_->subject(item.path)));
    return found;
  }
  fill_facts(status, found);
  if (item.length == 0) return found;
  if (found.type == EntryType::symlink) {
    if (const auto target = reader->link_target(item.path)) {
      found.digests.push_back(io::digest_of(std::as_bytes(std::span(*target))).bytes);
    }
  } else if (found.type == EntryType::file) {
    const io::Fd fd = reader->open(item.path);
    if (fd && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) {
      fill_facts(status, found);
      digest_file(item, fd.get(), buffer, found);
    } else {
      found.state = SumState::unreadable;
      reporter_.problem(io::errno_error("open", top_->subject(item.path)));
    }
  }
  return found;
}

void Checker::digest_file(const SumItem& item, int fd, std::span<std::byte> buffer, SumFound& found) {
  if (item.offset > found.size) return;
  const std::uint64_t end = item.offset + std::min(item.length, found.size - item.offset);
  const bool aligned = item.offset % io::kPageBytes == 0 && item.unit % io::kPageBytes == 0;
  const bool large = found.size > kCachedBytes && aligned;
  const io::RingFile file = large || job_.cache == io::CacheMode::bypass
                                ? io::choose_source(fd, found.size, job_.cache)
                                : io::RingFile{.fd = fd};
  if (!file.direct && end - item.offset > buffer.size()) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  const std::uint64_t unit = item.unit == 0 ? kToTheEnd : item.unit;
  io::RunningDigest digest;
  std::uint64_t at = item.offset;
  do {
    const auto done = digest_extent(file, {at, std::min(unit, end - at)}, buffer, digest);
    if (!done) {
      found.state = SumState::unreadable;
      reporter_.problem(io::errno_error("read", top_->subject(item.path)));
      return;
    }
    if (*done == 0 && at < end) return;  // the file became shorter
    found.digests.push_back(digest.finish().bytes);
    at += *done;
    if (*done == 0) return;
  } while (at < end && found.digests.size() < kSumsMax);
}

// Returns how many bytes were there, or nothing, with errno, if the file cannot be read. With O_DIRECT whole
// pages are read.
std::optional<std::uint64_t> Checker::digest_extent(const io::RingFile& file, io::Extent extent,
                                                    std::span<std::byte> buffer, io::RunningDigest& digest) {
  std::uint64_t done = 0;
  while (done < extent.length) {
    if (stopped_) return errno = ECANCELED, std::nullopt;
    const std::uint64_t left = extent.length - done;
    const std::uint64_t at = extent.offset + done;
    const std::uint64_t before = file.direct ? at % io::kPageBytes : 0;
    const std::size_t wanted =
        file.direct ? io::round_up(std::min<std::uint64_t>(buffer.size(), before + left), io::kPageBytes)
                    : std::min<std::uint64_t>(kCachedBytes, left);
    const ssize_t n = io::retry_eintr(
        [&] { return ::pread(file.fd, buffer.data(), wanted, static_cast<off_t>(at - before)); });
    if (n < 0) return std::nullopt;
    const auto there = static_cast<std::uint64_t>(n);
    const std::size_t bytes = there > before ? std::min(there - before, left) : 0;
    digest.add(buffer.subspan(before, bytes));
    done += bytes;
    if (bytes == 0) break;
  }
  return done;
}

template <class Message>
bool CheckDesk::decode(const RawMessage& raw, Message& message) {
  auto decoded = control_.decode<Message>(raw);
  if (decoded) message = std::move(*decoded);
  if (!decoded) reporter_.fatal(decoded.error());
  return decoded.ok();
}

// The result of send() is ignored, because the loss of the coordinator is noticed by reading from it.
bool CheckDesk::handle(const RawMessage& raw) {
  if (raw.type == MessageType::list_job) {
    ListJob job;
    if (!decode(raw, job)) return false;
    checker_.reset();
    checker_ = std::make_unique<Checker>(
        job, reporter_,
        Checker::Sinks{[this](const Listed& listed) { (void)control_.send(listed).ok(); },
                       [this](const SumTold& told) { (void)control_.send(told).ok(); },
                       [this](const Unlisted& unlisted) { (void)control_.send(unlisted).ok(); }},
        wishes_);
    return true;
  }
  if (raw.type == MessageType::list_more) {
    ListMore more;
    if (!decode(raw, more) || !checker_) return false;
    checker_->list_more(more.pages);
    return true;
  }
  SumAsk ask;
  return decode(raw, ask) && checker_ && checker_->ask(std::move(ask));
}

}  // namespace rdcp::tree

#include "tree/session/target_context.h"

#include <fmt/format.h>

#include <ctime>

namespace rdcp::tree {

using io::ErrorKind;

namespace {

constexpr std::string_view kAsksTooMuch = "questions about far more than is sent";

}  // namespace

TargetContext::TargetContext(TargetSession& session, std::size_t index, const net::StreamShape& shape)
    : session(session), index(index), shape(shape) {
  if (!session.place.root) return;
  tree = std::make_unique<TargetTree>(session.place.root.get(), session.place.name, session.metadata(),
                                      session.earlier);
  tree->ask_for_names([this](EntryPathView path) { return claim(path); },
                      [this](EntryPathView path) { return stays_unlinked(path); });
  if (settings().sync.enabled && settings().sync.mirror) tree->ask(session.guards.removals);
  if (settings().fsync) tree->flush_all();
  if (session.job.wishes.strict) tree->put_for_good();
}

io::Result<void> TargetContext::claim(EntryPathView path) const {
  Spellings& spellings = session.guards.spellings;
  return spellings.watches() ? spellings.claim(path, tree->subject(path.text())) : io::Result<void>();
}

// A source sends a link when it has heard that all else is in place. But in a chain a host between the two
// can answer for this one, and pass on the link before its first name: then it would lead to an older file.
io::Result<void> TargetContext::may_link(const Entry& link) const {
  TargetGuards& guards = session.guards;
  std::string_view why;
  if (guards.not_put.has(link.first_name.text()) || guards.not_put.has_overflowed()) {
    why = "could not be written";
  } else if (guards.ledger && !guards.linked_to.add(link.first_name.text())) {
    why = "is one more than a copy by way of other hosts can watch";
  }
  if (why.empty()) return {};
  return io::plain_error(ErrorKind::file, "link", tree->subject(link.path),
                         fmt::format("{}, its other name, {}", tree->subject(link.first_name), why));
}

// To be asked when a name was given, because a link to it may be made at the same time.
io::Result<void> TargetContext::stays_unlinked(EntryPathView path) const {
  if (!session.guards.linked_to.has(path.text())) return {};
  return io::plain_error(ErrorKind::file, "write", tree->subject(path.text()),
                         "another name was linked to it before it came, and so to an older file: a host "
                         "between the source and this one has changed the order");
}

bool TargetContext::has_put_for_good() {
  if (!session.job.wishes.strict || tree == nullptr) return true;
  const auto flushed = tree->flush_names();
  if (!flushed) report(flushed.error());
  return flushed.ok();
}

void TargetContext::fail(const io::Error& error) {
  session.fail(error);
  turns->wake_all();
}

void TargetContext::report(const io::Error& error) {
  session.report(error);
  if (session.refusing()) turns->wake_all();
}

void TargetContext::protocol_error(std::string_view what) {
  fail(io::plain_error(ErrorKind::protocol, "receive from", "the source", what));
}

void TargetContext::want(TargetFile& file, const io::Extent& extent) {
  if (!file.want(extent)) protocol_error(kAsksTooMuch);
}

void TargetContext::want(io::DigestSet& wanted, std::string_view path) {
  if (!wanted.add(path)) protocol_error(kAsksTooMuch);
}

void TargetContext::wake_waiting() {
  turns->wake_all();
  session.streams.wake_others(index);
}

io::Result<bool> TargetContext::next_entry(ArchiveReader& reader, Entry& entry) const {
  auto more = reader.next(entry);
  const char* fault = more && *more ? fault_of(session.guards.terms, entry) : nullptr;
  if (fault != nullptr) return io::plain_error(ErrorKind::protocol, "receive from", "the source", fault);
  return more;
}

bool TargetContext::read_header(ArchiveReader& reader, std::span<const std::byte> header, Entry& entry) {
  const auto opened = reader.open(header);
  const auto more = opened ? next_entry(reader, entry) : io::Result<bool>(opened.error());
  if (!more) {
    fail(more.error());
    return false;
  }
  if (!*more || entry.type != EntryType::file || entry.size != 0 || entry.attributes_only) {
    protocol_error("a file without a header");
    return false;
  }
  if (session.guards.only) {
    entry = *session.guards.only;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    entry.mtime = {now.tv_sec, static_cast<std::uint32_t>(now.tv_nsec)};
  }
  return true;
}

}  // namespace rdcp::tree

// An agent that breaks the rules, in place of rdcp on the far side: `rdcp --rdcp-path hostile_agent
// HOST:ATTACK DST`. It holds the key, since it was asked to copy; the name of the SRC says what it does with
// the connection.

#include <archive.h>
#include <archive_entry.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/digest.h"
#include "net/stream/frame.h"
#include "net/stream/record_layer.h"
#include "net/tcp/tcp_connect.h"
#include "tree/archive/archive.h"
#include "tree/messages/changes.h"
#include "tree/messages/check_job.h"
#include "tree/messages/clean_job.h"
#include "tree/messages/finding.h"
#include "tree/messages/hello.h"
#include "tree/messages/job.h"
#include "tree/messages/knock.h"
#include "tree/messages/segment_job.h"
#include "tree/pages/compare.h"
#include "tree/pages/names_page.h"
#include "tree/protocol/control.h"

namespace rdcp {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono::seconds;

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// A frame with its payload, wrapped as was agreed on; or, without a frame, bytes as they are.
struct Message {
  std::optional<net::Frame> frame;
  Bytes payload;
};
using Messages = std::vector<Message>;

Messages framed(net::Frame frame, const Bytes& payload = {}) {
  frame.length = static_cast<std::uint32_t>(payload.size());
  if (!payload.empty()) frame.digest = io::digest_of(payload);
  return {{frame, payload}};
}

Messages both(Messages first, const Messages& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Bytes on_the_wire(const Messages& messages, net::RecordLayer& record_layer) {
  Bytes bytes;
  for (Message message : messages) {
    std::span<const std::byte> payload = message.payload;
    Bytes room(payload.size());
    if (message.frame) {
      const auto header = payload.empty() ? record_layer.wrap(*message.frame)
                                          : record_layer.wrap(*message.frame, payload, room, false);
      append(bytes, header.value().bytes());
    }
    append(bytes, payload);
  }
  return bytes;
}

// A tar archive with one file of that path and content, and behind it the table of times.
Bytes archive_with(const std::string& path, const std::string& link = "", const std::string& second = "") {
  Bytes bytes(64 << 10);
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  archive_write_set_bytes_per_block(writer, 512);
  archive_write_set_bytes_in_last_block(writer, 512);
  archive_write_open_memory(writer, bytes.data(), bytes.size(), &used);
  std::uint8_t entries = 0;
  for (const std::string& name : {path, second}) {
    if (name.empty()) continue;
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_perm(entry, 0644);
    const bool is_link = !link.empty() && entries == 0;
    archive_entry_set_filetype(entry, is_link ? AE_IFLNK : AE_IFREG);
    if (is_link) archive_entry_set_symlink(entry, link.c_str());
    if (!is_link) archive_entry_set_size(entry, 4);
    archive_write_header(writer, entry);
    if (!is_link) archive_write_data(writer, "evil", 4);
    archive_entry_free(entry);
    ++entries;
  }
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used + 4 * entries);
  for (const int byte : {int{entries}, 0, 0, 0}) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

net::Frame frame_of(net::FrameKind kind, std::uint32_t slot = 0) {
  net::Frame frame;
  frame.kind = kind;
  frame.slot = slot;
  return frame;
}

net::Frame data_frame(std::uint64_t file, std::uint64_t offset, std::uint32_t slot) {
  net::Frame frame = frame_of(net::FrameKind::data, slot);
  frame.file_id = file;
  frame.offset = offset;
  return frame;
}

// What an honest agent would send of `keys`, which lies beside where the copy lands: as behind a filter that
// rewrites its landing.
constexpr const char* kBeside = "keys";

tree::Entry beside(tree::EntryType type, const std::string& path = kBeside, const std::string& link = "") {
  tree::Entry entry;
  entry.type = type;
  entry.path = tree::EntryPath::of_own(path);
  entry.mode = 0777;
  if (type == tree::EntryType::hard_link) entry.first_name = tree::EntryPath::of_own(link);
  if (type == tree::EntryType::symlink) entry.link_target = link;
  return entry;
}

Bytes packed(const tree::Entry& entry, const std::string& content = "") {
  Bytes slot(64 << 10);
  tree::ArchiveWriter writer;
  writer.begin(slot);
  (void)writer.add(entry, std::as_bytes(std::span(content))).ok();
  slot.resize(writer.finish().value());
  return slot;
}

Messages sent_archive(const tree::Entry& entry, const std::string& content = "") {
  return framed(frame_of(net::FrameKind::archive), packed(entry, content));
}

Messages whole_file_beside() {
  net::Frame open = frame_of(net::FrameKind::open);
  open.file_id = 1;
  net::Frame commit = frame_of(net::FrameKind::commit, 1);
  commit.file_id = 1;
  commit.extra = io::FileDigest().value();
  return both(framed(open, packed(beside(tree::EntryType::file))),
              framed(commit, packed(beside(tree::EntryType::file))));
}

Messages question_beside() {
  Bytes slot(64 << 10);
  tree::QuestionWriter writer;
  writer.begin(slot);
  tree::Question question;
  question.entry = beside(tree::EntryType::directory, "other");
  (void)writer.add(question);
  slot.resize(writer.finish());
  return framed(frame_of(net::FrameKind::compare), slot);
}

// Of a directory: that the source has nothing in it.
Messages emptied(const std::string& path, bool by_sum) {
  Bytes slot(64 << 10);
  tree::NamesWriter writer;
  if (by_sum) {
    writer.begin_sums(slot);
    (void)writer.add(tree::SummedDirectory{tree::EntryPath::of_own(path), 0, {}});
  } else {
    (void)writer.begin_names(slot, path, 1, 0);
  }
  slot.resize(writer.finish());
  return framed(frame_of(net::FrameKind::names), slot);
}

using Attack = std::function<Messages()>;

// Each of these is refused for its name alone. mirror-*: in a mirror, whose DST is missing.
const std::map<std::string, Attack>& attacks_by_name() {
  using enum tree::EntryType;
  static const std::map<std::string, Attack> all{
      {"named-file",
       [] {
         tree::Entry entry = beside(file);
         entry.size = 4;
         return sent_archive(entry, "evil");
       }},
      {"named-attributes",
       [] {
         tree::Entry entry = beside(file);
         entry.attributes_only = true;
         return sent_archive(entry);
       }},
      {"named-finish", [] { return sent_archive(beside(directory, "other")); }},
      {"named-root", [] { return sent_archive(beside(directory, "")); }},
      {"named-symlink", [] { return sent_archive(beside(symlink, kBeside, "/etc/passwd")); }},
      {"named-fifo", [] { return sent_archive(beside(fifo)); }},
      {"named-hard-link", [] { return sent_archive(beside(hard_link, kBeside, "other/keys")); }},
      {"named-linked", [] { return sent_archive(beside(hard_link, "dst", "other/keys")); }},
      {"named-open", whole_file_beside},
      {"mirror-compare", question_beside},
      {"mirror-sums", [] { return emptied("other", true); }},
      {"mirror-names", [] { return emptied("", false); }},
      {"mirror-names-other", [] { return emptied("other", false); }},
  };
  return all;
}

const std::map<std::string, Attack>& attacks() {
  using enum net::FrameKind;
  static const std::map<std::string, Attack> all{
      {"parent", [] { return framed(frame_of(archive), archive_with("../rdcp-evil")); }},
      {"absolute", [] { return framed(frame_of(archive), archive_with("/tmp/rdcp-evil")); }},
      {"symlink", [] { return framed(frame_of(archive), archive_with("way", "..", "way/rdcp-evil")); }},
      {"slot", [] { return framed(frame_of(archive, 4000), archive_with("x")); }},
      {"slot-twice",
       [] {
         return both(framed(frame_of(archive), archive_with("x")),
                     framed(frame_of(archive), archive_with("y")));
       }},
      {"extent", [] { return framed(data_frame(1, 1ull << 60, 0), Bytes(100)); }},
      {"length",
       [] {
         net::Frame frame = data_frame(1, 0, 0);
         frame.length = 0x7fffffff;
         return Messages{{frame, {}}};
       }},
      {"credit", [] { return framed(frame_of(credit)); }},
      {"garbage",
       [] {
         return Messages{{{}, Bytes(100'000, std::byte{0x5a})}};
       }},
      {"cut-frame",
       [] {
         return Messages{{{}, Bytes(50)}};
       }},
      {"nothing", [] { return Messages(); }},
  };
  return all;
}

const Attack* attack_called(const std::string& name) {
  for (const auto* some : {&attacks(), &attacks_by_name()}) {
    if (const auto found = some->find(name); found != some->end()) return &found->second;
  }
  return nullptr;
}

// What would clear the screen, set a title, show the rest from right to left, and begin a line of its own.
const std::string kRaw = "\x1b[2J\xc2\x9b\u202ea\x07\xff\nrdcp: all is well\r";

void tell(tree::ControlChannel& control, const auto&... messages) {
  ((void)control.send(messages).ok(), ...);
}

tree::Problem last_problem() {
  return {.kind = io::ErrorKind::file, .ends_run = true, .text = kRaw};
}

// Whatever it is asked, it answers with text that a terminal would obey.
void answer_raw(tree::ControlChannel& control, const tree::RawMessage& asked) {
  using enum tree::MessageType;
  tree::Progress shown;
  shown.path = kRaw;
  const bool known = asked.type == examine || asked.type == clean_job || asked.type == list_job ||
                     asked.type == segment_job || asked.type == source_job || asked.type == target_job;
  if (known) std::cerr << kRaw << std::endl;
  if (asked.type == examine) tell(control, tree::Findings{{{tree::Level::ok, kRaw, kRaw, kRaw}}});
  if (asked.type == clean_job) {
    const tree::Leftover leftover{.kind = tree::OwnName::part, .path = kRaw, .final_path = kRaw};
    tell(control, tree::Problem{.text = kRaw}, tree::Leftovers{{leftover}, true});
  }
  if (asked.type == list_job) {
    tree::Listed page;
    page.job = 1;
    page.entries.resize(2);
    page.entries[0].type = tree::EntryType::directory;
    page.entries[1].path = kRaw;
    page.over = true;
    tell(control, tree::Problem{.text = kRaw}, page);
  }
  if (asked.type == segment_job) tell(control, tree::SegmentEnd{.status = 1, .problem = kRaw});
  if (asked.type == source_job) {
    const auto job = control.decode<tree::SourceJob>(asked);
    if (job && job->paths.at(0).ends_with("unasked")) tell(control, tree::Listed());
    tell(control, shown, last_problem());
  }
  if (asked.type == target_job) {
    tree::TargetReady ready;
    ready.kind = tree::PathKind::directory;
    static const auto listener = net::TcpListener::open("");  // nobody answers there
    ready.reach.listens = true;
    const auto job = control.decode<tree::TargetJob>(asked);
    const bool is_command = job && job->path.ends_with("command");
    ready.reach.hosts = {is_command ? "127.0.0.1;touch /tmp/rdcp-evil;:" : "127.0.0.1"};
    ready.reach.port = listener->port();
    tell(control, ready);
  }
  if (asked.type == knock) tell(control, tree::Knocked{.answered = {}, .none_because = kRaw});
  if (asked.type == measure_job) tell(control, last_problem());
  if (asked.type == begin) tell(control, tree::Changes{{{kRaw, kRaw, kRaw}}}, last_problem());
}

// Says raw text until it is told to go.
int serve_raw() {
  tree::ControlChannel control(io::Fd(STDIN_FILENO), io::Fd(STDOUT_FILENO), "the coordinator");
  tree::Hello hello;
  hello.program_version = kRaw;
  tell(control, hello);
  for (;;) {
    const auto asked = control.wait(std::chrono::steady_clock::now() + seconds(20));
    if (!asked || asked->type == tree::MessageType::finish || asked->type == tree::MessageType::abort)
      return 0;
    if (asked->type == tree::MessageType::ping) tell(control, tree::Pong());
    answer_raw(control, *asked);
  }
}

// As far as the begin message, an honest agent.
int serve() {
  tree::ControlChannel control(io::Fd(STDIN_FILENO), io::Fd(STDOUT_FILENO), "the coordinator");
  tree::Hello hello;
  hello.boot_id = "elsewhere";
  if (!control.send(hello)) return 1;
  auto listener = net::TcpListener::open("");
  tree::SourceJob job;
  for (;;) {
    const auto raw = control.wait(std::chrono::steady_clock::now() + seconds(20));
    if (!raw) return 1;
    if (raw->type == tree::MessageType::source_job) {
      job = *control.decode<tree::SourceJob>(*raw);
      tree::SourceReady ready;
      ready.sources.push_back({.kind = tree::PathKind::directory, .device = 1, .inode = 1});
      ready.reach.listens = true;
      ready.reach.hosts = {"127.0.0.1"};
      ready.reach.port = listener->port();
      if (!control.send(ready)) return 1;
    } else if (raw->type == tree::MessageType::begin) {
      const tree::Begin begin = *control.decode<tree::Begin>(*raw);
      const std::string& path = job.paths.at(0);
      const std::string called = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
      const Attack* const attack = attack_called(called.substr(called.rfind('/') + 1));
      if (attack == nullptr) return 2;
      const std::atomic<bool> stop{false};
      auto sockets =
          listener->accept_all({job.streams.key, job.streams.encrypt}, begin.streams, seconds(10), stop, {});
      if (!sockets) return 1;
      auto record_layer = net::RecordLayer::create(sockets->front().seal, job.streams.compress, true);
      if (!record_layer) return 1;
      const Bytes bytes = on_the_wire((*attack)(), *record_layer);
      // MSG_NOSIGNAL by way of ignoring: the target may hang up in the middle.
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t n = ::write(sockets->front().get(), bytes.data() + at, bytes.size() - at);
        if (n <= 0) break;
        at += static_cast<std::size_t>(n);
      }
      if (path.ends_with("nothing") || path.ends_with("cut-frame")) sockets->clear();
      // Until the coordinator has had enough, or an attack that it could live with has had time to do harm.
      const auto until = std::chrono::steady_clock::now() + seconds(3);
      for (auto said = control.wait(until); said; said = control.wait(until)) {
        if (said->type == tree::MessageType::abort) break;
      }
      return 0;
    }
  }
}

}  // namespace
}  // namespace rdcp

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && (std::strcmp(argv[1], "--list") == 0 || std::strcmp(argv[1], "--list-by-name") == 0)) {
    const bool by_name = std::strcmp(argv[1], "--list-by-name") == 0;
    for (const auto& [name, attack] : by_name ? rdcp::attacks_by_name() : rdcp::attacks()) {
      std::cout << name << "\n";
    }
    return 0;
  }
  const bool raw = std::strcmp(::program_invocation_short_name, "raw_agent") == 0;
  return raw ? rdcp::serve_raw() : rdcp::serve();
}

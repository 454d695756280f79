// Tasks without a worker: a session with a plan, a ring and a slot, and real files in a scratch directory.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/tree/scratch_directory.h"
#include "tree/archive/archive.h"
#include "tree/source/tasks.h"

namespace rdcp::tree {

struct TaskTest : testing::Test {
  static constexpr std::uint32_t kSlotBytes = 64 << 10;
  using State = FilledSlot::State;

  TaskTest() {
    root.fd.reset(::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    root.given = "SRC";
    root.landing = "dst";
    top = std::make_shared<DirectoryTracker>(root);
    job.settings.chunk_bytes = kSlotBytes;
    job.streams.connect = Connect::connect;
  }
  // With `job` and `terms` as they are now.
  void begin() {
    session.emplace(job, standard, ReadContext{job.settings.policy(), names, reporter});
    terms.shape = {.target_slots = 1, .slot_bytes = kSlotBytes};
    terms.small_file_max = SourceSession::small_file_max(kSlotBytes);
    session->set_terms(terms);
    auto made = io::make_ring(io::RingChoice::thread_pool, 4);
    ASSERT_TRUE(made);
    ring = std::move(*made);
    context.emplace(*session, *ring);
  }

  Item item(const std::string& name) {
    top->add_child();
    Item found;
    found.directory = top;
    found.name = name;
    found.status = status_of(scratch / name);
    return found;
  }
  Item file(const std::string& name, const std::string& content) {
    write_file(scratch / name, content);
    return item(name);
  }
  static Batch batch_of(std::vector<Item> items) {
    Batch batch;
    batch.items = std::move(items);
    return batch;
  }
  Task take() {
    Work work;
    EXPECT_EQ(session->plan().take(work, this), Plan::Next::work);
    return std::move(work.task);
  }
  Task take_batch(std::vector<Item> items) {
    session->plan().add(batch_of(std::move(items)));
    return take();
  }
  Task take_large(Item large, bool byte_stream = false) {
    session->plan().add(std::make_shared<FileTransfer>(std::move(large), byte_stream));
    return take();
  }
  // Opened at both ends, the target's answer being `status`.
  FileTransferRef open(Item large, net::AckStatus status = net::AckStatus::done, bool byte_stream = false) {
    Task task = take_large(std::move(large), byte_stream);
    const FileTransferRef file = std::get<OpenTask>(task).file;
    const FilledSlot filled = fill_slot(task);
    EXPECT_TRUE(filled.is_ready());
    EXPECT_FALSE(answer(task, filled, status));
    return file;
  }
  bool plan_waits() {
    Work work;
    return session->plan().take(work, this) == Plan::Next::wait;
  }

  FilledSlot fill_slot(Task& task) {
    FilledSlot filled(State::failed);
    io::Task filling = await_filling(task, filled);
    filling.start();
    while (!filling.done()) EXPECT_TRUE(ring->run_once(std::chrono::seconds(5)));
    if (filled.length > 0) {
      EXPECT_EQ(filled.frame.digest, io::digest_of(payload(filled)));
    }
    return filled;
  }
  std::optional<Task> answer(Task& task, const FilledSlot& filled, net::AckStatus status,
                             const net::Verdicts& verdicts = {}) {
    return settle(task, SlotAnswer{filled, slot(), status, verdicts}, *context);
  }
  // What comes next, whether for the same slot or from the plan.
  Task next_after(Task& task, const FilledSlot& filled, net::AckStatus status) {
    auto next = answer(task, filled, status);
    return next ? std::move(*next) : take();
  }
  std::span<std::byte> slot() { return slot_bytes; }
  std::span<const std::byte> payload(const FilledSlot& filled) { return slot().first(filled.length); }
  std::string text(const FilledSlot& filled) {
    return {reinterpret_cast<const char*>(slot().data()), filled.length};
  }

  // What the target would unpack: each path with its content.
  std::map<std::string, std::string> archived(const FilledSlot& filled) {
    std::map<std::string, std::string> found;
    const AdmittedNames all = AdmittedNames::all();
    ArchiveReader reader(all);
    EXPECT_TRUE(reader.open(payload(filled)));
    for (;;) {
      const auto more = reader.next(entry);
      if (!more || !*more) break;
      std::string& content = found[entry.path.text()];
      for (;;) {
        const auto block = reader.next_block();
        if (!block || !*block) break;
        content.append(reinterpret_cast<const char*>((*block)->bytes.data()), (*block)->bytes.size());
      }
    }
    return found;
  }
  std::string problems() const {
    std::string all;
    for (const Problem& problem : told) all += problem.text + "\n";
    return all;
  }
  Done done() { return session->totals().done(); }

  ScratchDirectory scratch;
  std::vector<Problem> told;
  Reporter reporter{[this](const Problem& problem) { told.push_back(problem); }};
  NameTable names;
  StandardStreams standard;
  SourceJob job;
  SendTerms terms;
  Root root;
  DirectoryRef top;
  std::vector<std::byte> slot_bytes = std::vector<std::byte>(kSlotBytes);
  Entry entry;  // the last that archived() has seen
  std::optional<SourceSession> session;
  std::unique_ptr<io::Ring> ring;
  std::optional<TaskContext> context;

 private:
  io::Task await_filling(Task& task, FilledSlot& filled) {
    Filling filling = fill(task, slot(), *context);
    filled = co_await filling;
  }
};

}  // namespace rdcp::tree

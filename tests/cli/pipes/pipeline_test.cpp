#include "cli/pipes/pipeline.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace rdcp::cli {
namespace {

using tree::SegmentKind;

PipeSegment good(std::string_view word) {
  auto segment = parse_segment(word);
  EXPECT_TRUE(segment.ok()) << word;
  return segment ? *segment : PipeSegment();
}

void expect_command_here(std::string_view word, std::string_view command) {
  const PipeSegment segment = good(word);
  EXPECT_FALSE(segment.host) << word;
  EXPECT_EQ(segment.kind, SegmentKind::command) << word;
  EXPECT_EQ(segment.text, command) << word;
}

TEST(ParseSegment, HostAndCommand) {
  const PipeSegment segment = good("host:wc -c");
  ASSERT_TRUE(segment.host);
  EXPECT_EQ(segment.host->ssh_destination(), "host");
  EXPECT_EQ(segment.kind, SegmentKind::command);
  EXPECT_EQ(segment.text, "wc -c");
  EXPECT_EQ(segment.host_name(), "host");
}

TEST(ParseSegment, UserAndAddresses) {
  EXPECT_EQ(good("bob@host:x").host->ssh_destination(), "bob@host");
  EXPECT_EQ(good("10.0.0.1:x").host->host, "10.0.0.1");
  EXPECT_EQ(good("[fe80::1%eth0]:x:y").host->host, "fe80::1%eth0");
  EXPECT_EQ(good("[fe80::1]:x:y").text, "x:y");
  EXPECT_EQ(good("bob@[::1]:x").host->ssh_destination(), "bob@::1");
}

TEST(ParseSegment, OnlyTheFirstColonCounts) {
  EXPECT_EQ(good("host:ls a:b").text, "ls a:b");
  EXPECT_EQ(good("host::").text, ":");
}

TEST(ParseSegment, WithoutAHostItRunsHere) {
  expect_command_here(":cat", "cat");
  expect_command_here("zfs send tank", "zfs send tank");
  expect_command_here("tar c a:b", "tar c a:b");
  expect_command_here("/usr/bin/x:y", "/usr/bin/x:y");
  expect_command_here("echo $X:1", "echo $X:1");
}

TEST(ParseSegment, Operators) {
  const auto expect = [](std::string_view word, SegmentKind kind, std::string_view text) {
    const PipeSegment segment = good(word);
    EXPECT_EQ(segment.kind, kind) << word;
    EXPECT_EQ(segment.text, text) << word;
  };
  expect("h:< file", SegmentKind::read_file, "file");
  expect("h:<file", SegmentKind::read_file, "file");
  expect("h:  > file ", SegmentKind::write_file, "file");
  expect("h:>>file", SegmentKind::append_file, "file");
  expect("< file", SegmentKind::read_file, "file");
  expect(":>> 'a b'", SegmentKind::append_file, "'a b'");
}

TEST(ParseSegment, WhatIsTheShellsStaysTheShells) {
  for (const char* command : {">&2 echo", "<(ls)", "<<x", "<>f", ">|f", "cat > f", ">>& f", "&>f"}) {
    expect_command_here(std::string(":") + command, command);
  }
}

TEST(ParseSegment, Refusals) {
  for (const char* word : {"", ":", "h:", "h:  ", "h:>", "h:>> ", "< ", "-h:x", "u@:x", "[]:x"}) {
    const auto segment = parse_segment(word);
    ASSERT_FALSE(segment.ok()) << word;
    EXPECT_EQ(segment.error().kind, io::ErrorKind::usage) << word;
  }
}

TEST(PipeSegment, SaysWhatTheUserWrote) {
  for (const char* word : {":< f", ":> f", ":>> f", ":cat f"}) EXPECT_EQ(":" + good(word).what(), word);
}

// Each stage as first-last, "i" where it takes rdpipe's input, "o" where it gives to rdpipe's output.
std::string stages(std::initializer_list<const char*> words, bool have_input = true) {
  std::vector<PipeSegment> segments;
  for (const char* word : words) segments.push_back(good(word));
  std::string text;
  for (const PipeStage& stage : stages_of(segments, have_input)) {
    text += (text.empty() ? "" : " ") + std::to_string(stage.first) + "-" + std::to_string(stage.last) +
            (stage.takes_input ? "i" : "") + (stage.gives_output ? "o" : "");
  }
  return text;
}

TEST(StagesOf, CommandsAreOneStage) {
  EXPECT_EQ(stages({"a:x"}), "0-0io");
  EXPECT_EQ(stages({"a:x", "b:y", "c:z"}), "0-2io");
  EXPECT_EQ(stages({"a:x", "b:y"}, false), "0-1o");
}

TEST(StagesOf, AFileThatIsReadBeginsOne) {
  EXPECT_EQ(stages({"a:< f", "b:y"}), "0-1o");
  EXPECT_EQ(stages({"a:x", "b:< f", "c:y"}), "0-0i 1-2o");
  EXPECT_EQ(stages({"a:x", "b:< f"}), "0-0i 1-1o");
  EXPECT_EQ(stages({"a:< f", "a:< g"}), "0-0 1-1o");
}

TEST(StagesOf, AFileThatIsWrittenEndsOne) {
  EXPECT_EQ(stages({"a:x", "b:> f"}), "0-1i");
  EXPECT_EQ(stages({"a:> f", "b:x", "c:>> g"}), "0-0i 1-2");
  EXPECT_EQ(stages({"a:> f", "b:> g"}), "0-0i 1-1");
  EXPECT_EQ(stages({"a:< f", "b:> g", "c:< h", "d:x"}), "0-1 2-3o");
}

}  // namespace
}  // namespace rdcp::cli

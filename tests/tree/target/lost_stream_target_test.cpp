// Tests a target whose source says, truly or not, that a stream is lost, and sends its chunks again.
#include "tests/tree/target/hostile_fixture.h"

namespace rdcp::tree {
namespace {

using net::AckStatus;
using net::FrameKind;

constexpr std::size_t kSize = 10'000;

struct ToldLossTest : HostileTest {
  Sent over(std::size_t stream, Sent sent) {
    sent.stream = stream;
    return sent;
  }
  Sent again(Sent sent) {
    sent.frame.flags |= net::kFlagAgain;
    return sent;
  }
  Sent lost(std::uint64_t stream) {
    Sent sent = frame_of(FrameKind::lost);
    sent.frame.offset = stream;
    return sent;
  }
  Sent open() {
    Sent sent = frame_of(FrameKind::open, header_of("file"));
    sent.frame.file_id = 1;
    sent.frame.offset = kSize;
    return sent;
  }
  Sent data(char fill, std::size_t size = kSize) {
    Sent sent = frame_of(FrameKind::data, std::vector<std::byte>(size, static_cast<std::byte>(fill)));
    sent.frame.file_id = 1;
    return sent;
  }
  Sent commit(const Sent& data) {
    Sent sent = frame_of(FrameKind::commit, header_of("file"));
    sent.frame.file_id = 1;
    sent.frame.offset = data.frame.length;
    io::FileDigest digest;
    digest.add(0, data.frame.length, data.frame.digest);
    sent.frame.extra = digest.value();
    return sent;
  }
  void expect_file(char fill, std::size_t size = kSize) {
    EXPECT_TRUE(complete);
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(content_of(scratch / "root/file") == std::string(size, fill));
    EXPECT_EQ(names_in(scratch / "root"), std::vector<std::string>{"file"});
  }
};

TEST_F(ToldLossTest, EachStepComesTwice) {
  attack({over(1, open()), lost(1), again(open()), over(2, data('a')), lost(2), again(data('a')),
          over(3, commit(data('a'))), lost(3), again(commit(data('a')))},
         4);
  expect_file('a');
  EXPECT_EQ(answers.size(), 9u);
  EXPECT_EQ(std::ranges::count(answers, AckStatus::refused), 0);
  EXPECT_EQ(result.lost_streams.size(), 3u);
  EXPECT_EQ(result.bytes, kSize);
}

// The bytes of the first time count no more, whatever comes the second time.
TEST_F(ToldLossTest, TheFileHasChangedMeanwhile) {
  attack({open(), over(1, data('a')), lost(1), again(data('b')), commit(data('b'))}, 2);
  expect_file('b');
}

TEST_F(ToldLossTest, TheFileHasBecomeShorterMeanwhile) {
  attack({open(), over(1, data('a')), lost(1), again(data('b', 777)), commit(data('b', 777))}, 2);
  expect_file('b', 777);
}

// Over two streams that are lost one after the other.
TEST_F(ToldLossTest, TheSameChunkThreeTimes) {
  attack({open(), over(1, data('a')), lost(1), over(2, again(data('a'))), lost(2), again(data('a')),
          commit(data('a'))},
         3);
  expect_file('a');
}

TEST_F(ToldLossTest, WhatHadNotArrivedIsNew) {
  attack({lost(1), again(open()), again(data('a')), again(commit(data('a')))}, 2);
  expect_file('a');
}

TEST_F(ToldLossTest, AnArchiveIsUnpackedTwice) {
  const Sent batch = frame_of(FrameKind::archive, raw_archive(
                                                      [](archive* writer) {
                                                        add_file(writer, "file", "aaa");
                                                        add_link(writer, "link", "file", true);
                                                      },
                                                      2));
  attack({over(1, batch), lost(1), again(batch)}, 2);
  EXPECT_TRUE(complete);
  EXPECT_EQ(heard.text(), "");
  EXPECT_EQ(content_of(scratch / "root/file"), "aaa");
  EXPECT_EQ(names_in(scratch / "root"), (std::vector<std::string>{"file", "link"}));
  EXPECT_EQ(status_of(scratch / "root/file").st_nlink, 2u);
}

// A refusal stands, and is told once.
TEST_F(ToldLossTest, ARefusedFileComesAgain) {
  std::filesystem::create_directory(scratch / "root/file");
  const Sent file = frame_of(FrameKind::commit, header_of("file"));
  attack({open(), data('a'), over(1, commit(data('a'))), lost(1), again(commit(data('a')))}, 2);
  EXPECT_EQ(answers.back(), AckStatus::refused);
  EXPECT_EQ(heard.problems().size(), 1u) << heard.text();
  EXPECT_TRUE(complete);
}

TEST_F(ToldLossTest, AStreamThatThereIsNot) {
  attack({lost(2)}, 2);
  expect_refused();
}

TEST_F(ToldLossTest, TheStreamThatItComesOver) {
  attack({lost(0)}, 2);
  expect_refused();
}

TEST_F(ToldLossTest, Twice) {
  attack({lost(1), lost(1), open(), data('a'), commit(data('a'))}, 2);
  expect_file('a');
  EXPECT_EQ(result.lost_streams.size(), 1u);
}

// The stream is not really lost: the source may end its own streams as it likes.
TEST_F(ToldLossTest, AStreamThatLives) {
  attack({open(), over(1, data('a')), lost(1), over(1, data('b')), commit(data('a'))}, 2);
  expect_file('a');
  EXPECT_EQ(answers.size(), 4u);  // none over the dead stream
}

// Each stream is told to be lost over the other one; neither may wait for ever.
TEST_F(ToldLossTest, EachOther) {
  attack({over(1, lost(0)), over(0, lost(1))}, 2);
  EXPECT_LE(result.lost_streams.size(), 1u);
}

TEST_F(ToldLossTest, AgainWithoutALoss) {
  attack({again(open()), again(data('a')), again(commit(data('a')))}, 2);
  expect_refused();
}

TEST_F(ToldLossTest, AgainCannotCountTwice) {
  attack({open(), lost(1), again(data('a')), again(data('a')), commit(data('a'))}, 2);
  expect_refused(io::ErrorKind::digest);
}

TEST_F(ToldLossTest, AnOpeningAgainThatNobodyLost) {
  attack({open(), lost(1), again(open())}, 2);
  expect_refused();
}

// A chunk that was answered on a lost stream is taken back only once.
TEST_F(ToldLossTest, TakenBackTwice) {
  attack({open(), over(1, data('a')), lost(1), again(data('a')), again(data('a')), commit(data('a'))}, 2);
  expect_refused(io::ErrorKind::digest);
}

TEST_F(ToldLossTest, AgainWithMadeUpIds) {
  for (const FrameKind kind : {FrameKind::data, FrameKind::commit}) {
    Heard said;
    Sent made_up = again(kind == FrameKind::data ? data('a') : commit(data('a')));
    made_up.frame.file_id = 77;
    attack({open(), over(1, data('a')), lost(1), made_up}, 2);
    EXPECT_FALSE(complete);
    EXPECT_TRUE(names_in(scratch / "root").empty());
  }
}

// With --verify, bytes that are not read back as they came do not count, so nothing is taken back when they
// come again. A file of proc(5) says a number in its own words, whatever was written.
TEST_F(ToldLossTest, AMisreadMeetsALostStream) {
  settings.verify = true;
  settings.inplace = true;
  settings.ring = io::RingChoice::thread_pool;
  root = "/proc/self";
  const auto about_number = [](Sent sent, const std::vector<std::byte>& payload) {
    Sent about = frame_of(sent.frame.kind, payload);
    about.frame.file_id = 1;
    about.frame.offset = sent.frame.offset;
    about.frame.extra = sent.frame.extra;
    return about;
  };
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const std::string number = content_of("/proc/self/oom_score_adj");
  const Sent misread = about_number(data('a'), bytes_of(" " + number));
  const Sent good = about_number(data('a'), bytes_of(number));
  const auto header = header_of("oom_score_adj");
  attack({about_number(open(), header), over(1, misread), lost(1), again(good),
          about_number(commit(good), header)},
         2);
  ASSERT_EQ(answers.size(), 5u) << heard.text();
  EXPECT_EQ(answers[1], AckStatus::bad_digest) << heard.text();
  EXPECT_EQ(answers[3], AckStatus::done) << heard.text();
  // It cannot be cut to its size.
  for (const Problem& problem : heard.problems())
    EXPECT_EQ(problem.kind, io::ErrorKind::file) << problem.text;
}

TEST_F(ToldLossTest, AnAbandonAgain) {
  Sent abandon = frame_of(FrameKind::abandon);
  abandon.frame.file_id = 1;
  attack({open(), over(1, abandon), lost(1), again(abandon)}, 2);
  EXPECT_TRUE(complete);
  EXPECT_EQ(heard.text(), "");
  EXPECT_TRUE(names_in(scratch / "root").empty());
}

}  // namespace
}  // namespace rdcp::tree

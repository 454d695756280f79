#include "cli/options/known_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "io/write_all.h"

namespace rdcp::cli {
namespace {

constexpr std::size_t kEnough = 1000;

class KnownFile : public testing::Test {
 protected:
  KnownFile() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~KnownFile() override { std::filesystem::remove_all(folder_); }
  std::string at(const char* name) const { return folder_ + "/" + name; }

 private:
  std::string folder_ = "/tmp/known_file_XXXXXX";
};

TEST_F(KnownFile, AListMayBeAFile) {
  std::ofstream(at("list")) << "a\nb\n";
  EXPECT_EQ(read_list(at("list"), kEnough).value(), "a\nb\n");
  EXPECT_EQ(read_known_file(at("list"), kEnough).value(), "a\nb\n");
  const auto too_long = read_list(at("list"), 3);
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message().find("is too long"), std::string::npos);
}

TEST_F(KnownFile, AListMayComeThroughAPipe) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  std::thread writer([this] { std::ofstream(at("fifo")) << "from a fifo\n"; });
  const auto from_fifo = read_list(at("fifo"), kEnough);
  writer.join();
  EXPECT_EQ(from_fifo.value(), "from a fifo\n");
  for (const char* const folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const io::Fd read(ends[0]);
    io::Fd write(ends[1]);
    ASSERT_EQ(io::write_all(write.get(), "through a pipe\n"), 0);
    write.reset();
    EXPECT_EQ(read_list(folder + std::to_string(read.get()), kEnough).value(), "through a pipe\n");
  }
}

TEST_F(KnownFile, TheNullDeviceIsAnEmptyList) {
  EXPECT_EQ(read_list("/dev/null", kEnough).value(), "");
}

TEST_F(KnownFile, NothingElseIsAList) {
  for (const char* const path : {"/dev/zero", "/tmp", "/dev/fd/999999", "/dev/fd/", "/dev/fd/1x"}) {
    EXPECT_FALSE(read_list(path, kEnough)) << path;
  }
}

TEST_F(KnownFile, WhatIsNoListMustBeARegularFile) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  for (const std::string& path : {at("fifo"), std::string("/dev/null"), std::string("-")}) {
    EXPECT_FALSE(read_known_file(path, kEnough)) << path;
  }
}

TEST_F(KnownFile, StandardInputHasSeveralNames) {
  for (const char* const path : {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}) {
    EXPECT_TRUE(is_standard_input(path)) << path;
  }
  for (const char* const path : {"", "./-", "/dev/fd/1", "/dev/fd/00x"})
    EXPECT_FALSE(is_standard_input(path)) << path;
}

}  // namespace
}  // namespace rdcp::cli

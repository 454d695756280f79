#include "io/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "io/arena.h"
#include "tests/io/refuse_call.h"
#include "tests/io/temp_file.h"

namespace rdcp::io {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// A file on a disk, or in memory; skipped where the machine has no such place.
class FileTest : public testing::Test {
 protected:
  Fd on_disk() { return directory_.empty() ? Fd() : temp_file(directory_); }
  Fd in_memory() { return memory_directory().empty() ? Fd() : temp_file(memory_directory()); }

  std::string directory_ = disk_directory();
};

bool is_direct(const RingFile& file) {
  const bool switched_on = (::fcntl(file.fd, F_GETFL) & O_DIRECT) != 0;
  EXPECT_EQ(switched_on, file.direct) << "flag and promise differ";
  return file.direct;
}

void drop_from_cache(int fd) {
  ASSERT_EQ(::fdatasync(fd), 0);
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

TEST_F(FileTest, WrittenPagesAreResidentUntilDropped) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB)));
  EXPECT_EQ(resident_part(file.get(), kMiB), 1.0);
  drop_from_cache(file.get());
  EXPECT_LT(resident_part(file.get(), kMiB), 0.1);
}

TEST_F(FileTest, DirtyPagesAreDroppedWhenTheyAreWritten) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB)));
  EXPECT_TRUE(drop_pages(file.get()));
  EXPECT_EQ(resident_part(file.get(), kMiB), 0.0);
  const Fd memory = in_memory();
  if (!memory) GTEST_SKIP() << "no memory filesystem";
  ASSERT_TRUE(put(memory.get(), test_bytes(kMiB)));
  EXPECT_FALSE(drop_pages(memory.get()));
  EXPECT_EQ(errno, 0);
}

TEST_F(FileTest, ASecondDescriptorReadsWhatWasJustWritten) {
  const Fd file = on_disk();
  if (!file || !supports_direct(file.get())) GTEST_SKIP() << "no disk that takes O_DIRECT";
  const auto bytes = test_bytes(kMiB);
  ASSERT_TRUE(put(file.get(), bytes));
  const Fd direct = reopen_direct(file.get());
  ASSERT_TRUE(direct);
  EXPECT_NE(::fcntl(direct.get(), F_GETFL) & O_DIRECT, 0);
  EXPECT_EQ(::fcntl(file.get(), F_GETFL) & O_DIRECT, 0);
  auto arena = Arena::create(1, kMiB);
  ASSERT_TRUE(arena);
  ASSERT_EQ(::pread(direct.get(), arena->slot(0).data(), kMiB, 0), static_cast<ssize_t>(kMiB));
  EXPECT_TRUE(std::ranges::equal(arena->slot(0), bytes));
  EXPECT_FALSE(reopen_direct(in_memory().get()));
}

TEST_F(FileTest, HalfOfTheFileMayBeResident) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB)));
  drop_from_cache(file.get());
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB / 2)));
  EXPECT_NEAR(resident_part(file.get(), kMiB), 0.5, 0.05);
}

// Before Linux 6.5.
TEST_F(FileTest, ResidencyIsKnownWithoutCachestatToo) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  constexpr std::uint64_t kBytes = 40 * kMiB + 1000;
  ASSERT_TRUE(put(file.get(), test_bytes(kBytes)));
  double whole = -1;
  double half = -1;
  std::thread old_kernel([&] {
    constexpr int kCachestatCall = 451;
    ASSERT_TRUE(refuse_call(kCachestatCall, ENOSYS));
    whole = resident_part(file.get(), kBytes);
    drop_from_cache(file.get());
    ASSERT_TRUE(put(file.get(), test_bytes(kBytes / 2)));
    half = resident_part(file.get(), kBytes);
  });
  old_kernel.join();
  EXPECT_EQ(whole, 1.0);
  EXPECT_NEAR(half, 0.5, 0.05);
}

TEST_F(FileTest, AnEmptyFileIsResident) {
  const Fd file = temp_file("/tmp");
  EXPECT_EQ(resident_part(file.get(), 0), 1.0);
}

TEST_F(FileTest, ASmallFileIsNotMoreThanResident) {
  const Fd file = temp_file("/tmp");
  ASSERT_TRUE(put(file.get(), test_bytes(1)));
  EXPECT_EQ(resident_part(file.get(), 1), 1.0);
}

TEST_F(FileTest, AutomaticSourceIsReadFromTheCacheWhereItIsThere) {
  const Fd file = on_disk();
  if (!file || !supports_direct(file.get())) GTEST_SKIP() << "no disk that takes O_DIRECT";
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB)));
  const RingFile cached = choose_source(file.get(), kMiB, CacheMode::automatic);
  EXPECT_FALSE(is_direct(cached));
  EXPECT_TRUE(cached.resident);
  drop_from_cache(file.get());
  const RingFile cold = choose_source(file.get(), kMiB, CacheMode::automatic);
  EXPECT_TRUE(is_direct(cold));
  EXPECT_FALSE(cold.resident);
}

TEST_F(FileTest, SmallColdSourceIsBuffered) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  ASSERT_TRUE(put(file.get(), test_bytes(60'000)));
  drop_from_cache(file.get());
  const RingFile source = choose_source(file.get(), 60'000, CacheMode::automatic);
  EXPECT_FALSE(is_direct(source));
  EXPECT_FALSE(source.resident);
}

TEST_F(FileTest, KeepNeverGoesPastTheCache) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB)));
  EXPECT_TRUE(choose_source(file.get(), kMiB, CacheMode::keep).resident);
  drop_from_cache(file.get());
  const RingFile cold = choose_source(file.get(), kMiB, CacheMode::keep);
  EXPECT_FALSE(is_direct(cold));
  EXPECT_FALSE(cold.resident);
  EXPECT_FALSE(is_direct(choose_target(file.get(), 100 * kMiB, CacheMode::keep)));
}

TEST_F(FileTest, BypassGoesPastTheCacheThoughThePagesAreThere) {
  const Fd file = on_disk();
  if (!file || !supports_direct(file.get())) GTEST_SKIP() << "no disk that takes O_DIRECT";
  ASSERT_TRUE(put(file.get(), test_bytes(kMiB)));
  const RingFile source = choose_source(file.get(), kMiB, CacheMode::bypass);
  EXPECT_TRUE(is_direct(source));
  EXPECT_FALSE(source.resident);
}

TEST_F(FileTest, BypassWritesEvenASmallTargetDirect) {
  const Fd file = on_disk();
  if (!file || !supports_direct(file.get())) GTEST_SKIP() << "no disk that takes O_DIRECT";
  EXPECT_TRUE(is_direct(choose_target(file.get(), 1, CacheMode::bypass)));
}

TEST_F(FileTest, AutomaticTargetIsDirectWhenItIsLarge) {
  const Fd small = on_disk();
  const Fd large = on_disk();
  if (!small || !supports_direct(small.get())) GTEST_SKIP() << "no disk that takes O_DIRECT";
  EXPECT_FALSE(is_direct(choose_target(small.get(), 8 * kMiB - 1, CacheMode::automatic)));
  EXPECT_TRUE(is_direct(choose_target(large.get(), 8 * kMiB, CacheMode::automatic)));
}

TEST_F(FileTest, MemoryFilesystemsAreAlwaysBuffered) {
  const Fd file = in_memory();
  if (!file) GTEST_SKIP() << "no tmpfs";
  EXPECT_FALSE(supports_direct(file.get()));
  for (const CacheMode mode : {CacheMode::automatic, CacheMode::keep, CacheMode::bypass}) {
    const RingFile source = choose_source(file.get(), 100 * kMiB, mode);
    EXPECT_FALSE(is_direct(source));
    EXPECT_TRUE(source.resident) << "though nothing is written yet: it is not read from anywhere else";
    EXPECT_FALSE(is_direct(choose_target(file.get(), 100 * kMiB, mode)));
  }
}

TEST_F(FileTest, PreallocateReservesRoomOnADisk) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  const Result<void> done = preallocate(file.get(), kMiB + 1);
  ASSERT_TRUE(done.ok()) << done.error().message();
  struct stat status;
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  if (status.st_blocks == 0) GTEST_SKIP() << "this filesystem cannot";
  EXPECT_GE(status.st_blocks * 512, static_cast<off_t>(kMiB));
}

TEST_F(FileTest, PreallocateLeavesMemoryFilesystemsAlone) {
  const Fd file = in_memory();
  if (!file) GTEST_SKIP() << "no tmpfs";
  ASSERT_TRUE(preallocate(file.get(), kMiB).ok());
  struct stat status;
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_blocks, 0);
}

TEST_F(FileTest, PreallocateOfNothingIsFine) {
  EXPECT_TRUE(preallocate(temp_file("/tmp").get(), 0).ok());
}

TEST_F(FileTest, PreallocateReportsAFileThatIsTooBig) {
  const Fd file = on_disk();
  if (!file) GTEST_SKIP() << "no disk";
  EXPECT_EQ(preallocate(file.get(), ~std::uint64_t{0}).error().code, EFBIG);
  rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit = {kMiB, old_limit.rlim_max};
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Result<void> done = preallocate(file.get(), 2 * kMiB);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, EFBIG);
}

// On a small ext4 of its own.
TEST_F(FileTest, PreallocateReportsAFullDisk) {
  if (::geteuid() != 0 || directory_.empty())
    GTEST_SKIP() << "needs root and a disk to mount a small filesystem";
  char place[] = "/tmp/rdcp-file-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place), nullptr);
  const std::string directory = place;
  const std::string set_up = "truncate -s 8M " + directory + "/image && mkfs.ext4 -q " + directory +
                             "/image && mkdir " + directory + "/mounted && mount -o loop " + directory +
                             "/image " + directory + "/mounted";
  const bool mounted = std::system((set_up + " 2>/dev/null").c_str()) == 0;
  std::optional<int> code;
  if (mounted) {
    const Fd file = temp_file(directory + "/mounted");
    const Result<void> done = preallocate(file.get(), 100 * kMiB);
    code = done.ok() ? 0 : done.error().code;
  }
  if (mounted) ::umount2((directory + "/mounted").c_str(), MNT_DETACH);
  std::filesystem::remove_all(directory);
  if (!mounted) GTEST_SKIP() << "cannot make or mount a small filesystem";
  EXPECT_EQ(code, ENOSPC);
}

std::vector<Extent> all_extents(DataExtents extents, std::uint64_t max_length) {
  std::vector<Extent> all;
  while (const std::optional<Extent> extent = extents.next(max_length)) all.push_back(*extent);
  return all;
}

TEST(DataExtents, OfAFullFileAreCutAtMaxLength) {
  const std::vector<Extent> expected = {{0, 8192}, {8192, 8192}, {16384, 1}};
  EXPECT_EQ(all_extents(DataExtents(-1, 16385, false), 8192), expected);
}

TEST(DataExtents, OfAnEmptyFileAreNone) {
  EXPECT_TRUE(all_extents(DataExtents(-1, 0, false), 8192).empty());
  EXPECT_TRUE(all_extents(DataExtents(-1, 0, true), 8192).empty());
}

TEST(DataExtents, WithoutSeekDataAreEverything) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  const Fd in(ends[1]);
  const std::vector<Extent> expected = {{0, 4096}, {4096, 904}};
  EXPECT_EQ(all_extents(DataExtents(out.get(), 5000, true), 4096), expected);
}

// In memory and on a disk.
class SparseFile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().empty()) GTEST_SKIP() << "no such directory";
    file_ = temp_file(GetParam());
    ASSERT_TRUE(file_);
  }
  std::vector<Extent> extents(std::uint64_t size, std::uint64_t max_length = kMiB) {
    EXPECT_EQ(::ftruncate(file_.get(), static_cast<off_t>(size)), 0);
    return all_extents(DataExtents(file_.get(), size, true), max_length);
  }

  Fd file_;
};

INSTANTIATE_TEST_SUITE_P(Place, SparseFile, testing::Values(memory_directory(), disk_directory()),
                         [](const auto& place) { return place.index == 0 ? "InMemory" : "OnDisk"; });

TEST_P(SparseFile, WithoutDataHasNoExtents) {
  EXPECT_TRUE(extents(10 * kMiB).empty());
}

TEST_P(SparseFile, ExtentsCoverDataAndNothingMoreThanItsPages) {
  ASSERT_TRUE(put(file_.get(), test_bytes(10), 3 * kMiB + 5000));
  ASSERT_TRUE(put(file_.get(), test_bytes(10'000), 5 * kMiB));
  const std::vector<Extent> expected = {{3 * kMiB + 4096, 4096}, {5 * kMiB, 12288}};
  EXPECT_EQ(extents(10 * kMiB), expected);
}

TEST_P(SparseFile, LastExtentIsClippedToTheSize) {
  ASSERT_TRUE(put(file_.get(), test_bytes(5000), 2 * kMiB));
  const std::vector<Extent> expected = {{2 * kMiB, 5000}};
  EXPECT_EQ(extents(2 * kMiB + 5000), expected);
}

TEST_P(SparseFile, LongDataIsCutAtMaxLength) {
  ASSERT_TRUE(put(file_.get(), test_bytes(20'000), kMiB));
  const std::vector<Extent> expected = {{kMiB, 8192}, {kMiB + 8192, 8192}, {kMiB + 16384, 4096}};
  EXPECT_EQ(extents(8 * kMiB, 8192), expected);
}

TEST_P(SparseFile, DataAtTheVeryStartAndEndIsSeen) {
  ASSERT_TRUE(put(file_.get(), test_bytes(1), 0));
  ASSERT_TRUE(put(file_.get(), test_bytes(1), 4 * kMiB - 1));
  const std::vector<Extent> expected = {{0, 4096}, {4 * kMiB - 4096, 4096}};
  EXPECT_EQ(extents(4 * kMiB), expected);
}

TEST_P(SparseFile, ThatHasGrownSinceIsReadToTheSizeThatWasAskedFor) {
  ASSERT_TRUE(put(file_.get(), test_bytes(kMiB), 0));
  const std::vector<Extent> expected = {{0, 5000}};
  EXPECT_EQ(all_extents(DataExtents(file_.get(), 5000, true), kMiB), expected);
}

}  // namespace
}  // namespace rdcp::io

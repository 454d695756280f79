#include "tree/meta/xattrs.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "tests/io/refuse_call.h"
#include "tests/tree/meta/metadata_fixture.h"

namespace rdcp::tree {
namespace {

using testing::ElementsAre;
using Tag = AclLine::Tag;

TEST_F(Metadata, XattrsAreReadAndSet) {
  const io::Fd from = make_file(0600, "from"), to = make_file(0600, "to");
  if (!has_xattrs(from.get())) GTEST_SKIP() << "no user.* xattrs here";
  const std::string large(3000, 'v');
  ASSERT_EQ(::fsetxattr(from.get(), "user.a=b", "v\0\n", 3, 0), 0);
  ASSERT_EQ(::fsetxattr(from.get(), "user.empty", "", 0, 0), 0);
  ASSERT_EQ(::fsetxattr(from.get(), "user.large", large.data(), large.size(), 0), 0);
  read(from.get());
  EXPECT_EQ(entry_.xattrs.size(), 3u);
  apply(to.get());
  EXPECT_EQ(xattr(to.get(), "user.a=b"), std::string("v\0\n", 3));
  EXPECT_EQ(xattr(to.get(), "user.empty"), "");
  std::string value(5000, '\0');
  value.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, ::fgetxattr(to.get(), "user.large", value.data(), 5000))));
  EXPECT_EQ(value, large);
  EXPECT_THAT(lost(), ElementsAre());
}

TEST_F(Metadata, ManyXattrNamesAreRead) {
  const io::Fd file = make_file();
  if (!has_xattrs(file.get())) GTEST_SKIP() << "no user.* xattrs here";
  for (int i = 0; i < 12; ++i) {
    const std::string name = "user." + std::to_string(i) + std::string(100, 'n');
    ASSERT_EQ(::fsetxattr(file.get(), name.c_str(), "x", 1, 0), 0);
  }
  read(file.get());
  EXPECT_EQ(entry_.xattrs.size(), 12u);
}

TEST_F(Metadata, XattrsAreLeftAloneWhenNotWanted) {
  const io::Fd file = make_file();
  if (!has_xattrs(file.get())) GTEST_SKIP() << "no user.* xattrs here";
  ASSERT_EQ(::fsetxattr(file.get(), "user.old", "x", 1, 0), 0);
  policy_.xattrs = false;
  read(file.get());
  EXPECT_TRUE(entry_.xattrs.empty());
  entry_.xattrs = {{"user.new", "y"}};
  apply(file.get());
  EXPECT_EQ(xattr(file.get(), "user.old"), "x");
  EXPECT_EQ(xattr(file.get(), "user.new"), "(none)");
}

TEST_F(Metadata, XattrsBeyondTheEntrysAreRemoved) {
  const io::Fd file = make_file();
  if (!has_xattrs(file.get())) GTEST_SKIP() << "no user.* xattrs here";
  ASSERT_EQ(::fsetxattr(file.get(), "user.old", "x", 1, 0), 0);
  ASSERT_EQ(::fsetxattr(file.get(), "user.kept", "x", 1, 0), 0);
  entry_.xattrs = {{"user.kept", "y"}};
  apply(file.get());
  EXPECT_EQ(xattr(file.get(), "user.old"), "(none)");
  EXPECT_EQ(xattr(file.get(), "user.kept"), "y");
}

TEST_F(Metadata, NamespacesThatAreNotCopiedAreALoss) {
  const io::Fd file = make_file();
  for (const char* name : {kAccessAclXattr, "security.selinux", "system.nfs4_acl", "nonsense", ""}) {
    Losses losses;
    entry_.xattrs = {{name, "x"}};
    ASSERT_TRUE(apply_metadata(file.get(), entry_, ~0u, {policy_, names_, losses}, "f").ok());
    ASSERT_EQ(losses.items().size(), 1u) << name;
    EXPECT_EQ(losses.items()[0].kind, LossKind::xattr);
  }
}

TEST_F(Metadata, AclsAreReadAndSet) {
  const io::Fd from = make_directory("from"), to = make_directory("to");
  if (!has_acls(from.get())) GTEST_SKIP() << "no ACLs here";
  const std::string raw = format_acl(some_acl());
  ASSERT_EQ(::fsetxattr(from.get(), kAccessAclXattr, raw.data(), raw.size(), 0), 0);
  ASSERT_EQ(::fsetxattr(from.get(), kDefaultAclXattr, raw.data(), raw.size(), 0), 0);
  fill_from_stat(status(from.get()), policy_, names_, entry_);
  read(from.get());
  EXPECT_EQ(entry_.access_acl, some_acl());
  EXPECT_EQ(entry_.default_acl, some_acl());
  EXPECT_TRUE(entry_.xattrs.empty());
  apply(to.get());
  EXPECT_EQ(xattr(to.get(), kAccessAclXattr), raw);
  EXPECT_EQ(xattr(to.get(), kDefaultAclXattr), raw);
  EXPECT_EQ(status(to.get()).st_mode, status(from.get()).st_mode);
  EXPECT_THAT(lost(), ElementsAre());
}

TEST_F(Metadata, GetfaclShowsTheAclThatWasSet) {
  const io::Fd file = make_file();
  if (!has_acls(file.get())) GTEST_SKIP() << "no ACLs here";
  entry_.access_acl = some_acl();
  entry_.mode = 0650;
  apply(file.get());
  FILE* pipe = ::popen(("getfacl -cnpE " + path("file") + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string listing(1000, '\0');
  listing.resize(std::fread(listing.data(), 1, listing.size(), pipe));
  if (::pclose(pipe) == 127 << 8) GTEST_SKIP() << "getfacl is not installed";
  EXPECT_EQ(listing, "user::rw-\nuser:12345:rwx\ngroup::--x\nmask::r-x\nother::---\n\n");
}

TEST_F(Metadata, AclBeyondTheEntrysIsRemoved) {
  const io::Fd directory = make_directory();
  if (!has_acls(directory.get())) GTEST_SKIP() << "no ACLs here";
  const std::string raw = format_acl(some_acl());
  ASSERT_EQ(::fsetxattr(directory.get(), kAccessAclXattr, raw.data(), raw.size(), 0), 0);
  ASSERT_EQ(::fsetxattr(directory.get(), kDefaultAclXattr, raw.data(), raw.size(), 0), 0);
  entry_.type = EntryType::directory;
  apply(directory.get());
  EXPECT_EQ(xattr(directory.get(), kAccessAclXattr), "(none)");
  EXPECT_EQ(xattr(directory.get(), kDefaultAclXattr), "(none)");
  EXPECT_EQ(status(directory.get()).st_mode & 07777, 0640u);
}

TEST_F(Metadata, AclInheritedFromTheDirectoryIsRemoved) {
  const io::Fd directory = make_directory();
  if (!has_acls(directory.get())) GTEST_SKIP() << "no ACLs here";
  const std::string raw = format_acl(some_acl());
  ASSERT_EQ(::fsetxattr(directory.get(), kDefaultAclXattr, raw.data(), raw.size(), 0), 0);
  const io::Fd file(::openat(directory.get(), "f", O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  EXPECT_FALSE(files_are_born_plain(directory.get(), file.get()));
  apply(file.get(), 0640);
  EXPECT_EQ(xattr(file.get(), kAccessAclXattr), "(none)");
  EXPECT_EQ(status(file.get()).st_mode & 07777, 0640u);
}

TEST_F(Metadata, AclThatCannotBeSetDoesNotWidenTheGroup) {
  const io::Fd file = make_file();
  entry_.mode = 0670;
  entry_.access_acl = {{Tag::user, 7, kOrdinaryId, ""}, {Tag::group_obj, 4, 0, ""}, {Tag::mask, 7, 0, ""}};
  apply(file.get());
  EXPECT_THAT(lost(), ElementsAre(LossKind::acl));
  EXPECT_EQ(status(file.get()).st_mode & 07777, 0640u);
}

// Whoever may not write to an inode may not change its xattrs, its owner included; root may.
TEST_F(Metadata, ReadOnlyFilesAndDirectoriesOfAnOrdinaryUserKeepTheirXattrs) {
  const auto steps = [&] {
    const io::Fd fresh = make_file(0444, "fresh"), old = make_file(0600, "old"), directory = make_directory();
    if (!has_xattrs(old.get())) return;
    ASSERT_EQ(::fsetxattr(old.get(), "user.old", "x", 1, 0), 0);
    ASSERT_EQ(::fchmod(old.get(), 0440), 0);
    ASSERT_EQ(::fchmod(directory.get(), 0555), 0);
    entry_.uid = ::geteuid();
    entry_.gid = ::getegid();
    entry_.xattrs = {{"user.a", "1"}, {"user.b", "2"}};
    entry_.mode = 0444;
    apply(fresh.get(), 0444 | kBornPlain);
    apply_path_fd(hold("old").get());
    entry_.type = EntryType::directory;
    entry_.mode = 0555;
    apply(directory.get());
    for (const io::Fd* fd : {&fresh, &old, &directory}) {
      EXPECT_EQ(xattr(fd->get(), "user.a"), "1");
      EXPECT_EQ(xattr(fd->get(), "user.b"), "2");
      EXPECT_EQ(status(fd->get()).st_mode & 07777, fd == &directory ? 0555u : 0444u);
      EXPECT_EQ(status(fd->get()).st_mtim.tv_sec, entry_.mtime.seconds);
    }
    EXPECT_EQ(xattr(old.get(), "user.old"), "(none)");
    EXPECT_THAT(lost(), ElementsAre());
  };
  if (::geteuid() == 0) {
    as_ordinary_user(steps);
  } else {
    steps();
  }
}

TEST_F(Metadata, WhatThereIsNoRoomForIsAFailureAndNotALoss) {
  const io::Fd file = make_file();
  entry_.xattrs = {{"user.a", "1"}, {"user.b", "2"}};
  for (const int code : {ENOSPC, EDQUOT, EIO, EOPNOTSUPP, EPERM}) {
    std::vector<std::string> failed;
    Losses losses([&](const io::Error& error) { failed.push_back(error.message()); });
    std::thread([&] {
      ASSERT_TRUE(io::refuse_call(SYS_fsetxattr, static_cast<unsigned>(code)));
      const auto applied = apply_metadata(file.get(), entry_, ~0u, {policy_, names_, losses}, "the file");
      EXPECT_TRUE(applied.ok());
    }).join();
    const bool is_loss = code == EOPNOTSUPP || code == EPERM;
    EXPECT_EQ(losses.items().size(), is_loss ? 1u : 0u) << code;
    ASSERT_EQ(failed.size(), is_loss ? 0u : 1u) << code;
    EXPECT_TRUE(is_loss || failed[0].find("the file") != std::string::npos) << failed[0];
    EXPECT_EQ(status(file.get()).st_mtim.tv_sec, entry_.mtime.seconds);
  }
}

// By such names XFS shows root how it stores ACLs; another filesystem would keep them as ordinary xattrs.
TEST_F(MetadataAsRoot, WhatXfsShowsOfItsAclsIsNotCopied) {
  const io::Fd file = make_file();
  if (!has_xattrs(file.get(), "trusted.SGI_ACL_FILE")) GTEST_SKIP() << "no trusted.* xattrs here";
  ASSERT_EQ(::fsetxattr(file.get(), "trusted.SGI_ACL_FILE", "x", 1, 0), 0);
  EXPECT_FALSE(may_have_xattrs(file.get(), policy_));
  read(file.get());
  EXPECT_TRUE(entry_.xattrs.empty());
}

TEST_F(MetadataAsRoot, TrustedAndSecurityXattrsAreCopied) {
  const io::Fd from = make_file(0600, "from"), to = make_file(0600, "to");
  if (!has_xattrs(from.get(), "trusted.probe")) GTEST_SKIP() << "no trusted.* xattrs here";
  // cap_net_raw+ep, as setcap(8) writes it.
  const std::string capability("\1\0\0\2\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  ASSERT_EQ(::fsetxattr(from.get(), "trusted.x", "1", 1, 0), 0);
  ASSERT_EQ(::fsetxattr(from.get(), "security.capability", capability.data(), capability.size(), 0), 0);
  read(from.get());
  entry_.uid = kOrdinaryId;  // chown(2) would clear a capability that was set before it
  apply(to.get());
  EXPECT_EQ(xattr(to.get(), "trusted.x"), "1");
  EXPECT_EQ(xattr(to.get(), "security.capability"), capability);
}

TEST_F(MetadataAsRoot, SymlinksOwnerAndXattrsAreItsOwn) {
  const io::Fd file = make_file();
  if (!has_xattrs(file.get(), "trusted.probe")) GTEST_SKIP() << "no trusted.* xattrs here";
  ASSERT_EQ(::symlink("file", path("link").c_str()), 0);
  const io::Fd link = hold("link");
  entry_.type = EntryType::symlink;
  entry_.uid = kOrdinaryId;
  entry_.xattrs = {{"trusted.x", "1"}};
  apply_path_fd(link.get());
  EXPECT_EQ(status(link.get()).st_uid, kOrdinaryId);
  EXPECT_EQ(status(file.get()).st_uid, 0u);
  EXPECT_EQ(xattr(file.get(), "trusted.x"), "(none)");
  entry_.xattrs.clear();
  read(link.get(), true);
  EXPECT_EQ(entry_.xattrs, (std::vector<Xattr>{{"trusted.x", "1"}}));
}

TEST_F(MetadataAsRoot, OrdinaryUserLosesTrustedXattrs) {
  as_ordinary_user([this] {
    const io::Fd file = make_file();
    entry_.uid = entry_.gid = kOrdinaryId;
    entry_.xattrs = {{"trusted.x", "1"}};
    apply(file.get());
    EXPECT_THAT(lost(), ElementsAre(LossKind::xattr));
  });
}

}  // namespace
}  // namespace rdcp::tree

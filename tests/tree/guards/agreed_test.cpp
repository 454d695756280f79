// What a source may send: each kind of frame, with each flag, in each job, against what the job's words mean.
#include "tree/guards/agreed.h"

#include <gtest/gtest.h>

#include "tests/tree/target/hostile_fixture.h"
#include "tree/agent/receive_only_policy.h"
#include "tree/archive/archive_format.h"
#include "tree/protocol/control.h"

namespace rdcp::tree {
namespace {

using net::FrameKind;

// A job as its options make it.
struct Case {
  explicit Case(unsigned bits) : bits_(bits) {
    dry_run = next(), sync = next(), deletes = next(), delta = next(), checksum = next(), verify = next();
    resume = next(), local = next(), one_stream = next(), in_place = next(), streams = next();
    retry = next(), tree = next(), lost_one = next();
  }
  static constexpr unsigned kCount = 1 << 14;

  Terms terms() const {
    TargetJob job;
    job.tree = tree;
    job.settings.sync.dry_run = dry_run;
    job.settings.sync.enabled = sync;
    job.settings.sync.delete_extra = deletes;
    job.settings.delta = delta;
    job.settings.checksum = checksum;
    job.settings.verify = verify;
    job.settings.resume = resume;
    job.settings.retry_seconds = retry ? 1 : 0;
    job.streams.connect = local ? Connect::in_process : Connect::connect;
    const Terms terms = terms_of(job, streams ? 2 : 1, one_stream, in_place);
    return lost_one ? terms | kHasLostOne : terms;
  }

  // The same question, answered kind by kind.
  bool takes(FrameKind kind) const {
    const bool named = !one_stream && !in_place;
    switch (kind) {
      case FrameKind::archive:
        return !dry_run && !one_stream;
      case FrameKind::open:
      case FrameKind::data:
      case FrameKind::commit:
      case FrameKind::abandon:
        return !dry_run;
      case FrameKind::copy_range:
        return !dry_run && local && !verify && !one_stream;
      case FrameKind::lost:
        return streams || retry;
      case FrameKind::compare:
        return sync && named;
      case FrameKind::names:
        return sync && deletes && named;
      case FrameKind::probe:
        return !dry_run && named && (checksum || (delta && !local));
      case FrameKind::ask:
        return !dry_run && named && resume;
      case FrameKind::end:
      case FrameKind::credit:
        break;
    }
    return false;
  }
  bool takes(FrameKind kind, unsigned flag) const {
    const bool named = !one_stream && !in_place;
    if (flag == net::kFlagSparse) return kind == FrameKind::open && named;
    if (flag == net::kFlagCompare) return kind == FrameKind::open && named && checksum;
    const bool comes_again =
        kind != FrameKind::copy_range && kind != FrameKind::lost && kind != FrameKind::ask;
    return flag == net::kFlagAgain && comes_again && lost_one;
  }
  bool takes(FrameKind kind, std::uint8_t flags) const {
    bool all = takes(kind);
    for (unsigned flag = 1; flag <= flags; flag <<= 1) {
      if ((flags & flag) != 0) all = all && takes(kind, flag);
    }
    return all;
  }

  bool dry_run, sync, deletes, delta, checksum, verify, resume, local, one_stream, in_place, streams, retry,
      tree, lost_one;

 private:
  bool next() {
    const bool bit = (bits_ & 1) != 0;
    bits_ >>= 1;
    return bit;
  }
  unsigned bits_;
};

TEST(Agreed, EveryFrameInEveryJob) {
  for (unsigned bits = 0; bits < Case::kCount; ++bits) {
    const Case job(bits);
    const Terms terms = job.terms();
    for (unsigned kind = 0; kind <= 14; ++kind) {
      for (const unsigned flags : {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 255}) {
        net::Frame frame;
        frame.kind = static_cast<FrameKind>(kind);
        frame.flags = static_cast<std::uint8_t>(flags);
        const char* fault = fault_of(terms, frame);
        ASSERT_EQ(fault == nullptr, job.takes(frame.kind, frame.flags))
            << "kind " << kind << " flags " << flags << " job " << bits << ": " << (fault ? fault : "taken");
      }
    }
  }
}

TEST(Agreed, EveryEntryInEveryJob) {
  for (unsigned bits = 0; bits < Case::kCount; ++bits) {
    const Case job(bits);
    const Terms terms = job.terms();
    for (unsigned type = 0; type <= static_cast<unsigned>(EntryType::block_device); ++type) {
      for (const bool attributes_only : {false, true}) {
        Entry entry;
        entry.type = static_cast<EntryType>(type);
        entry.attributes_only = attributes_only;
        const bool named = !job.one_stream && !job.in_place;
        const bool is_link = entry.type == EntryType::hard_link;
        const bool of_its_kind = entry.type == EntryType::file || (named && (is_link || job.tree));
        const bool expected = of_its_kind && (!attributes_only || (named && job.sync));
        ASSERT_EQ(fault_of(terms, entry) == nullptr, expected) << type << " job " << bits;
      }
    }
  }
}

// Whatever a stranger asks for: the same comes out, but for what is his to say.
TEST(Agreed, AStrangersJob) {
  ReceiveOnlyPolicy only;
  only.path = "/srv/FILE";
  TargetJob wild;
  CopySettings& settings = wild.settings;
  settings.delta = settings.inplace = settings.checksum = settings.verify = settings.fsync = true;
  settings.retry_seconds = 9;
  SyncSettings& sync = settings.sync;
  sync.enabled = sync.mirror = sync.delete_extra = sync.force = true;
  wild.path = "/etc/passwd";
  wild.standard_output = true;
  wild.tree = true;
  wild.marker = ".rdcp-0123456789abcdef.run";
  wild.selection.named_only = true;
  TargetJob held = held_to(only, wild);
  TargetJob tame = held_to(only, TargetJob());
  EXPECT_EQ(encode_fields(held), encode_fields(tame));
  EXPECT_EQ(held.path, "/srv/FILE");
  EXPECT_FALSE(held.settings.checksum);
  EXPECT_EQ(terms_of(held, 1, true, false), kChanges | kHasTree);
}

struct NotAgreedTest : HostileTest {
  static Sent open(std::uint8_t flags = 0) {
    Sent sent = frame_of(FrameKind::open, header_of("file"));
    sent.frame.file_id = 1;
    sent.frame.offset = 5000;
    sent.frame.flags = flags;
    return sent;
  }
  static std::vector<std::byte> only_attributes() {
    return raw_archive([](archive* writer) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, "file");
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_perm(entry, 06755);
      archive_entry_set_size(entry, 0);
      archive_entry_xattr_add_entry(entry, kAttributesXattr, "", 0);
      archive_write_header(writer, entry);
      archive_entry_free(entry);
    });
  }
};

TEST_F(NotAgreedTest, MetadataAloneOutsideOfASync) {
  write_file(scratch / "root/file", "mine");
  const mode_t before = status_of(scratch / "root/file").st_mode;
  for (const bool verify : {false, true}) {
    Heard said;
    settings.verify = verify;
    attack({frame_of(FrameKind::archive, only_attributes())});
    EXPECT_FALSE(complete);
    EXPECT_EQ(status_of(scratch / "root/file").st_mode, before);
    EXPECT_EQ(content_of(scratch / "root/file"), "mine");
  }
  settings.verify = false;
  settings.sync.enabled = true;
  attack({frame_of(FrameKind::archive, only_attributes())});
  EXPECT_EQ(status_of(scratch / "root/file").st_mode & 0777, 0755u);
}

TEST_F(NotAgreedTest, MetadataAloneAsAFilesHeader) {
  Sent sent = open();
  sent.payload = only_attributes();
  sent.frame.length = static_cast<std::uint32_t>(sent.payload.size());
  sent.frame.digest = io::digest_of(sent.payload);
  settings.sync.enabled = true;
  attack({sent});
  expect_refused();
}

TEST_F(NotAgreedTest, LinksWhereOnlyFilesWereAskedFor) {
  tree = false;
  attack({frame_of(FrameKind::archive,
                   raw_archive([](archive* writer) { add_link(writer, "file", "../outside", false); }))});
  expect_refused();
  EXPECT_TRUE(names_in(scratch / "root").empty());
}

TEST_F(NotAgreedTest, FlagsThatNobodyKnows) {
  attack({open(0x80)});
  expect_refused();
}

struct KindNotAgreedTest : NotAgreedTest, testing::WithParamInterface<FrameKind> {};
INSTANTIATE_TEST_SUITE_P(, KindNotAgreedTest,
                         testing::Values(FrameKind::compare, FrameKind::names, FrameKind::probe,
                                         FrameKind::ask, FrameKind::copy_range, FrameKind::lost));

TEST_P(KindNotAgreedTest, IsRefused) {
  settings.resume = false;
  const std::vector<std::byte> payload(net::has_payload(GetParam()) ? 64 : 0);
  attack({frame_of(GetParam(), payload)});
  expect_refused();
  const char* const cause = GetParam() == FrameKind::lost ? "does not exist" : "not agreed on";
  EXPECT_NE(heard.text().find(cause), std::string::npos) << heard.text();
}

}  // namespace
}  // namespace rdcp::tree

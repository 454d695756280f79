#include "tree/handlers/mirror_pages.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace rdcp::tree {

using net::AckStatus;

namespace {

constexpr std::size_t kChangesAtOnce = 1000;

}  // namespace

MirrorPages::MirrorPages(TargetContext& context)
    : context_(context),
      comparer_(context.session.place.root.get(), context.session.place.name, context.session.guards.removals,
                context.settings().policy(), context.session.metadata().names),
      pruner_(context.session.place.root.get(), context.session.place.name, context.session.guards.removals,
              context.session.reporter(), context.session.losses()) {
  comparer_.going = [&context] { return !context.giving_up(); };
  comparer_.open_up_by(context.session.earlier.opened);
  pruner_.going = comparer_.going;
  if (context.session.earlier.backups) pruner_.backups = &*context.session.earlier.backups;
  pruner_.flush = [&context](int directory, std::string_view subject) {
    return context.tree->flush_elsewhere(directory, subject);
  };
  use_links();
}

void MirrorPages::use_links() {
  LinkDirectories& links = context_.session.earlier.links;
  for (const auto& opened : links.opened) {
    links_.push_back(
        std::make_unique<Comparer>(opened.fd.get(), opened.name, context_.session.guards.removals,
                                   context_.settings().policy(), context_.session.metadata().names));
    links_.back()->strip(links.strips);
    links_.back()->going = comparer_.going;
  }
  if (!links_.empty()) comparer_.supplied = [this](const Question& question) { return link(question); };
}

// Links a file that is missing to the first that is the same. What cannot be linked is sent.
bool MirrorPages::link(const Question& question) {
  for (const auto& comparer : links_) {
    const auto twin = comparer->find_twin(question);
    if (!twin || context_.session.guards.removals.is_source(twin->status)) continue;
    if (context_.settings().sync.dry_run) return true;
    const std::lock_guard lock(context_.session.earlier.links.linking);
    const auto linked =
        context_.tree->link_file(question.entry.path, twin->directory, twin->name, twin->status);
    if (linked && *linked) return true;
  }
  return false;
}

AckStatus MirrorPages::compare(const net::Frame& frame, std::span<const std::byte> page,
                               net::Verdicts& verdicts) {
  QuestionReader reader(context_.session.guards.admitted);
  Question question;
  Changes changes;
  const auto opened = reader.open(page);
  if (!opened) context_.fail(opened.error());
  for (std::size_t i = 0; opened && !context_.giving_up(); ++i) {
    const auto more = reader.next(question);
    if (!more) context_.fail(more.error());
    if (!more || !*more) break;
    const auto verdict = judge(question, changes);
    if (!verdict) context_.report(verdict.error());
    if (verdict) note_verdict(question, *verdict);
    verdicts.set(i, static_cast<std::uint8_t>(verdict ? *verdict : Verdict::refused));
  }
  context_.session.changes.add(frame.file_id, frame.offset, std::move(changes));
  return context_.done_unless_refusing();
}

void MirrorPages::note_verdict(const Question& question, Verdict verdict) {
  FilesUnderWay& files = context_.session.files;
  if (files.others && verdict == Verdict::equal && question.entry.type == EntryType::file)
    files.refused.note_equal(question.entry.path);
  const bool wanted = verdict == Verdict::different || verdict == Verdict::metadata;
  TargetLedger* const ledger = context_.session.guards.ledger.get();
  if (ledger == nullptr || !wanted || context_.settings().sync.dry_run) return;
  context_.want(ledger->entries, question.entry.path);
}

io::Result<Verdict> MirrorPages::judge(const Question& question, Changes& changes) {
  const Entry& entry = question.entry;
  TargetTree& tree = *context_.tree;
  if (auto spelled = context_.claim(entry.path); !spelled) return std::move(spelled).error();
  auto verdict = comparer_.compare(question, changes.list);
  // A run that was cut short while it sent this file again has left a part that nobody wants any more.
  const bool whole = verdict && (*verdict == Verdict::equal || *verdict == Verdict::metadata);
  if (whole && entry.type == EntryType::file && entry.size >= kPartBytesMin &&
      !context_.settings().sync.dry_run) {
    if (const auto forgotten = tree.forget_part(entry.path); !forgotten) context_.report(forgotten.error());
  }
  return verdict;
}

bool MirrorPages::is_about_closed(const NamesPage& page) const {
  const RemovalGate& gate = context_.session.guards.removals;
  const auto is_closed = [&](const SummedDirectory& sum) { return gate.is_closed(sum.path); };
  return page.sums.empty() ? gate.is_closed(page.names.path) : std::ranges::any_of(page.sums, is_closed);
}

AckStatus MirrorPages::prune(const net::Frame& frame, std::span<const std::byte> page,
                             net::Verdicts& verdicts) {
  const auto read = read_names_page(page, context_.session.guards.admitted);
  if (!read) {
    context_.fail(read.error());
    return AckStatus::refused;
  }
  if (is_about_closed(*read)) {
    context_.protocol_error("names in a directory that a rule hides from it");
    return AckStatus::refused;
  }
  Changes changes;
  const auto hand_over = [&] {
    context_.session.changes.add(frame.file_id, frame.offset, std::exchange(changes, {}));
  };
  TargetLedger* const ledger = context_.session.guards.ledger.get();
  if (!read->sums.empty()) {
    pruner_.compare(read->sums, verdicts);
    for (std::size_t i = 0; ledger != nullptr && i < read->sums.size(); ++i) {
      const bool wanted = verdicts.at(i) != 0;
      if (wanted) context_.want(ledger->names, read->sums[i].path);
    }
  } else {
    if (ledger != nullptr) ledger->names.remove(read->names.path);
    pruner_.remove_others(read->names, [&](Change change) {
      changes.list.push_back(std::move(change));
      if (changes.list.size() == kChangesAtOnce) hand_over();
    });
  }
  hand_over();
  return context_.done_unless_refusing();
}

}  // namespace rdcp::tree

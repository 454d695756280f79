#include "cli/inspect/check_party.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cli/text/exit_status.h"
#include "cli/text/report.h"

namespace rdcp::cli {

using Clock = std::chrono::steady_clock;
using io::ErrorKind;

namespace {

constexpr int kLookEveryMs = 500;
constexpr std::size_t kItemsMax = 64;
constexpr std::uint64_t kAskBytes = 4 << 20;  // an agent reads about this much for one ask

std::size_t text_of(const tree::SumAsk& ask) {
  std::size_t text = 16;
  for (const tree::SumItem& item : ask.items) text += item.path.size() + 32;
  return text;
}

}  // namespace

CheckParty::CheckParty(const Options& options, int signal_fd)
    : options_(options), signal_fd_(signal_fd), has_terminal_(has_terminal()) {}

CheckParty::~CheckParty() {
  for (const auto& link : links_) {
    const tree::Finish finish{.status = static_cast<std::uint8_t>(status_)};
    if (!link->gone) link->tell(finish);
    link->end(over_);
  }
}

std::vector<AgentLink*> CheckParty::all_links() const {
  std::vector<AgentLink*> links;
  for (const auto& link : links_) links.push_back(link.get());
  return links;
}

bool CheckParty::start(const std::vector<Location>& places) {
  for (const Location& place : places) {
    auto link = is_remote(place) ? AgentLink::start_remote(options_, place) : AgentLink::start_local({});
    if (!link) return fail(link.error()), false;
    links_.push_back(std::move(*link));
  }
  ways_.resize(links_.size());
  while (std::ranges::any_of(links_, [](const auto& link) { return !link->hello; })) {
    if (!turn()) return false;
  }
  return true;
}

void CheckParty::look_at(std::size_t which, const std::string& path, tree::ListJob job) {
  job.number = ++ways_[which].job;
  job.path = path;
  job.numeric_ids = options_.numeric_ids;
  job.cache = options_.cache;
  links_[which]->tell(job);  // an agent that is gone shows when it is read from
  links_[which]->tell(tree::ListMore{.pages = kPages});
}

std::vector<tree::Listed> CheckParty::take_pages(std::size_t which) {
  auto pages = links_[which]->listed.take();
  std::erase_if(pages, [&](const tree::Listed& page) { return page.job != ways_[which].job; });
  return pages;
}

void CheckParty::ask(const tree::SumItem& item, std::uint64_t bytes, Answer answer) {
  gathered_.items.push_back(item);
  gathered_answers_.push_back(std::move(answer));
  gathered_bytes_ += bytes;
  if (gathered_.items.size() >= kItemsMax || gathered_bytes_ >= kAskBytes) flush();
}

void CheckParty::flush() {
  if (gathered_.items.empty()) return;
  gathered_.id = next_id_++;
  for (Way& way : ways_) way.waiting.push_back(gathered_.id);
  Ask ask{std::exchange(gathered_, {}), std::exchange(gathered_answers_, {}), {}};
  ask.found.resize(links_.size());
  const std::uint32_t id = ask.ask.id;
  asks_.emplace(id, std::move(ask));
  gathered_bytes_ = 0;
  send_waiting();
}

void CheckParty::send_waiting() {
  for (std::size_t which = 0; which < links_.size(); ++which) {
    Way& way = ways_[which];
    while (!way.waiting.empty() && (way.under_way == 0 || way.text < kTextUnderWay)) {
      const tree::SumAsk& ask = asks_.at(way.waiting.front()).ask;
      way.waiting.pop_front();
      ++way.under_way;
      way.text += text_of(ask);
      links_[which]->tell(ask);
    }
  }
}

// Returns false if the check is over, as it is after an answer to what was not asked.
bool CheckParty::take_told(std::size_t which) {
  for (tree::SumTold& told : links_[which]->told.take()) {
    const auto at = asks_.find(told.id);
    if (at == asks_.end() || !at->second.found[which].empty() ||
        told.found.size() != at->second.ask.items.size()) {
      fail(io::plain_error(ErrorKind::protocol, "talk to", links_[which]->name(),
                           "it sent an answer to a question that was not asked"));
      return false;
    }
    --ways_[which].under_way;
    ways_[which].text -= text_of(at->second.ask);
    at->second.found[which] = std::move(told.found);
    if (std::ranges::any_of(at->second.found, [](const auto& found) { return found.empty(); })) continue;
    const Ask ask = std::move(at->second);
    asks_.erase(at);
    for (std::size_t i = 0; i < ask.answers.size(); ++i) {
      std::vector<tree::SumFound> found;
      for (const auto& of_agent : ask.found) found.push_back(of_agent[i]);
      ask.answers[i](found);
    }
  }
  return !over_;
}

bool CheckParty::turn() {
  std::vector<pollfd> watched{{signal_fd_, POLLIN, 0}};
  for (const auto& link : links_) watched.push_back({link->control().fd(), POLLIN, 0});
  if (::poll(watched.data(), watched.size(), kLookEveryMs) < 0 && errno != EINTR) {
    fail(io::errno_error("poll", "agents", errno, ErrorKind::connection));
  }
  if (watched[0].revents != 0) take_signal();
  for (std::size_t i = 0; i < links_.size() && !over_; ++i) {
    if (!hear(i, watched[i + 1].revents != 0)) return false;
  }
  send_beats();
  send_waiting();
  return !over_;
}

bool CheckParty::hear(std::size_t which, bool readable) {
  AgentLink& link = *links_[which];
  const auto received = readable ? link.receive() : io::Result<void>();
  for (const tree::Problem& problem : link.problems.take()) {
    print(options_.program + ": " + problem.text + "\n");
    raise(exit_status(problem.kind));
    over_ = over_ || problem.ends_run;
  }
  if (over_) return false;
  if (!received) return fail(link.explain(options_, received.error())), false;
  const std::chrono::seconds limit = silence_max(link, has_terminal_);
  if (Clock::now() - link.heard > limit) {
    fail(io::plain_error(link.hello ? ErrorKind::connection : ErrorKind::unreachable, "wait for", link.name(),
                         "no answer for " + std::to_string(limit.count()) + " s"));
    return false;
  }
  return take_told(which);
}

void CheckParty::take_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo == SIGTSTP) {
    for (const auto& link : links_) link->tell(tree::Suspend());
    ::kill(::getpid(), SIGSTOP);
    for (const auto& link : links_) link->heard = Clock::now();
    return;
  }
  status_ = kExitSignalBase + static_cast<int>(info.ssi_signo);
  over_ = true;
}

void CheckParty::send_beats() {
  if (Clock::now() < next_beat_) return;
  next_beat_ = Clock::now() + tree::kBeatInterval;
  for (const auto& link : links_) {
    if (link->hello && !link->gone) link->tell(tree::Beat());
  }
}

void CheckParty::fail(const io::Error& error) {
  print(error_line(error, options_.program));
  raise(exit_status(error.kind));
  over_ = true;
}

}  // namespace rdcp::cli

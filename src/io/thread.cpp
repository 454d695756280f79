#include "io/thread.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <thread>

namespace rdcp::io {
namespace {

// The stack has the same size everywhere. The default is what `ulimit -s` says, which may be too little, or
// so much that a limit on memory (ulimit -v) leaves room for few threads. Sanitizers' larger frames fit, too.
constexpr std::size_t kStackBytes = 2 << 20;

Error refusal(std::string_view what, int code) {
  Error error = errno_error("start", what, code);
  if (code == EAGAIN) {
    error.detail =
        "this host allows no more threads (ulimit -u, ulimit -v, or the limit of a container or service)";
  }
  return error;
}

}  // namespace

Result<Thread> Thread::start_job(std::string_view what, std::unique_ptr<Job> job) {
  pthread_attr_t attributes;
  int code = ::pthread_attr_init(&attributes);
  if (code != 0) return refusal(what, code);
  code = ::pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t id{};
  if (code == 0) code = ::pthread_create(&id, &attributes, enter, job.get());
  ::pthread_attr_destroy(&attributes);
  if (code != 0) return refusal(what, code);
  (void)job.release();  // the thread owns it now
  Thread thread;
  thread.id_ = id;
  return thread;
}

void* Thread::enter(void* job) {
  const std::unique_ptr<Job> own(static_cast<Job*>(job));
  own->run();
  return nullptr;
}

void Thread::join() {
  if (id_) ::pthread_join(*id_, nullptr);
  id_.reset();
}

void Thread::detach() {
  if (id_) ::pthread_detach(*id_);
  id_.reset();
}

unsigned processors() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace rdcp::io

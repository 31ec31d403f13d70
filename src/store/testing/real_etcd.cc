#include "store/testing/real_etcd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "base/result.h"
#include "base/strings.h"

namespace cardea::store {
namespace {

constexpr const char* kProgram = "etcd";

std::string found_program() {
  if (const char* chosen = std::getenv("CARDEA_ETCD")) return chosen;
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path ? path : "/usr/bin", ':')) {
    std::string candidate = cat(folder, "/", kProgram);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port below those that the kernel gives to outgoing connections, so that none of these takes it
// first.
std::uint16_t free_port() {
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> ports(10000, 32767);
  while (true) {
    const std::uint16_t port = ports(random);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = address_of(port);
    const bool is_free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (is_free) return port;
  }
}

bool answers(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = address_of(port);
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

}  // namespace

RealEtcd::RealEtcd(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  std::string name = (std::filesystem::temp_directory_path() / "cardea-etcd-XXXXXX").string();
  CARDEA_CHECK(::mkdtemp(name.data()) != nullptr);
  folder_ = name;
  port_ = free_port();
  peer_port_ = free_port();
  start();
}

RealEtcd::~RealEtcd() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool RealEtcd::is_installed() {
  return !found_program().empty();
}

std::string RealEtcd::endpoint() const {
  return cat("http://127.0.0.1:", port_);
}

void RealEtcd::start() {
  const std::string program = found_program();
  CARDEA_CHECK(!program.empty());
  const std::string own = endpoint(), peer = cat("http://127.0.0.1:", peer_port_);
  std::vector<std::string> words{program,
                                 "--name=one",
                                 cat("--data-dir=", folder_, "/data"),
                                 cat("--listen-client-urls=", own),
                                 cat("--advertise-client-urls=", own),
                                 cat("--listen-peer-urls=", peer),
                                 cat("--initial-advertise-peer-urls=", peer),
                                 cat("--initial-cluster=one=", peer),
                                 "--log-level=error"};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log_path = cat(folder_, "/log");
  process_ = ::fork();
  CARDEA_CHECK(process_ >= 0);
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log = ::open(log_path.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  }
  while (!answers(port_)) {
    CARDEA_CHECK(::waitpid(process_, nullptr, WNOHANG) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void RealEtcd::kill() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

void RealEtcd::pause() {
  ::kill(process_, SIGSTOP);
}

void RealEtcd::resume() {
  ::kill(process_, SIGCONT);
}

}  // namespace cardea::store

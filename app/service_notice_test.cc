#include "app/service_notice.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/strings.h"

namespace cardea::app {
namespace {

// The socket of a starter, and the variable that names it.
class Starter {
 public:
  explicit Starter(const std::string& name) : name_(name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Starter() {
    ::close(socket_);
    if (name_[0] == '/') ::unlink(name_.c_str());
    ::unsetenv("NOTIFY_SOCKET");
  }
  std::string heard() {
    char buffer[64];
    const ssize_t size = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(size));
  }

 private:
  std::string name_;
  int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST(ServiceNotice, ReachesASocketWithAPath) {
  Starter starter(cat("/tmp/cardea-notice-", ::getpid()));
  EXPECT_TRUE(notify_starter("READY=1"));
  EXPECT_EQ(starter.heard(), "READY=1");
}

TEST(ServiceNotice, ReachesAnAbstractSocket) {
  Starter starter(cat("@cardea-notice-", ::getpid()));
  EXPECT_TRUE(notify_starter("STOPPING=1"));
  EXPECT_EQ(starter.heard(), "STOPPING=1");
}

TEST(ServiceNotice, IsNotSentWhereNobodyListens) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(notify_starter("READY=1"));
  for (const std::string& name : {std::string(""), std::string("@"), std::string("relative"),
                                  std::string("/nowhere/notify"), "/" + std::string(200, 'x')}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_FALSE(notify_starter("READY=1")) << name;
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace cardea::app

#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cardea::store {

// An etcd of one member on this machine, with a folder of its own; it ends with the test. Its ports
// stay the same when it is killed and started again.
class RealEtcd {
 public:
  // More arguments for etcd.
  explicit RealEtcd(std::vector<std::string> arguments = {});
  ~RealEtcd();
  RealEtcd(const RealEtcd&) = delete;
  RealEtcd& operator=(const RealEtcd&) = delete;

  static bool is_installed();
  std::string endpoint() const;
  std::uint16_t port() const { return port_; }
  void start();  // returns when it answers
  void kill();   // at once, as by a power failure of the process
  void pause();  // it holds its connections and says nothing
  void resume();

 private:
  const std::vector<std::string> arguments_;
  std::string folder_;
  std::uint16_t port_ = 0, peer_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace cardea::store

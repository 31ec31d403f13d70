#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::rest {

// Which node ports of a cluster are given out, in the one object where kube-apiserver keeps it: a
// RangeAllocation with a bit for each port. Whoever takes a port compares and writes it, so that no
// two servers give out the same port. A value.
class NodePortRange {
 public:
  // No port is given out. Both ends are included.
  NodePortRange(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}
  // As the store keeps it: JSON. An error: it is something else.
  static Result<NodePortRange> read(std::string_view stored);

  std::string text() const;  // "30000-32767"
  bool covers(std::int64_t port) const { return port >= first_ && port <= last_; }
  bool has(std::int64_t port) const;
  void set(std::int64_t port, bool is_taken);  // covers(port)
  std::string stored() const;

  template <typename Visit>
  void each(Visit visit) const {
    for (std::int64_t port = first_; port <= last_; ++port)
      if (has(port)) visit(port);
  }

  // Between the store's form and the Protobuf that lies in etcd.
  static Result<std::string> to_etcd(std::string_view stored);
  static Result<std::string> from_etcd(std::string_view value);

 private:
  static Result<NodePortRange> of(std::string_view text, std::string_view bits);
  std::string bits() const;

  std::int64_t first_, last_;
  std::string taken_;  // the lowest eight ports in the first byte
};

}  // namespace cardea::rest

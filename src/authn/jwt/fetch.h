#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/client.h"

namespace cardea::authn {

// Gets documents from one issuer and from the servers that it names. Redirects are followed
// (ten at most, never from https to http), an answer has at most a megabyte, and everything
// must end within thirty seconds. get() is for any thread; answers arrive on the loop's thread.
class Fetcher : public std::enable_shared_from_this<Fetcher> {
 public:
  using Done = std::move_only_function<void(Result<http::Answer>)>;
  virtual ~Fetcher() = default;
  // `bearer` may be empty; it is not sent to another host after a redirect.
  virtual void get(std::string url, std::string bearer, Done done) = 0;
};

// `server_cas` is PEM; empty: the system's roots. The loop and the dialer outlive it.
Result<std::shared_ptr<Fetcher>> make_fetcher(net::Loop& loop, net::Dialer& dialer,
                                              const std::string& server_cas);

}  // namespace cardea::authn

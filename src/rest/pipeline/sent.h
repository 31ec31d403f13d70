#pragma once
#include <memory>
#include <string>

#include "http/message.h"

namespace cardea::rest::pipeline {

// The question of a request that goes on for long, or that writes to a store which others share, so
// that it can be asked again: what is asked, and the credentials. It is kept in memory only, as
// long as its answer is not complete.
struct Sent {
  std::string method, path, query;
  http::Headers credentials;  // and the user to act for: the headers that the stations take away
  std::shared_ptr<const net::Peer> peer;

  // Before the stations: with all headers.
  static std::shared_ptr<Sent> of(const http::Request& request);
  // After them: `left` are the headers that nobody took.
  void drop(const http::Headers& left);

  // The request that asks the same.
  http::Request again() const;
};

}  // namespace cardea::rest::pipeline

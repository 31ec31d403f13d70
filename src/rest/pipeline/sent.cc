#include "rest/pipeline/sent.h"

#include "base/strings.h"

namespace cardea::rest::pipeline {

std::shared_ptr<Sent> Sent::of(const http::Request& request) {
  return std::make_shared<Sent>(
      Sent{request.method, request.path, request.query, request.headers, request.peer});
}

// Those that are left stand in the order in which they were sent.
void Sent::drop(const http::Headers& left) {
  http::Headers taken;
  auto next = left.begin();
  for (const http::Header sent : credentials) {
    const bool is_left = next != left.end() && (*next).name == sent.name &&
                         (*next).value == sent.value;
    if (is_left)
      ++next;
    else
      taken.add(sent.name, sent.value);
  }
  credentials = std::move(taken);
}

http::Request Sent::again() const {
  http::Request out;
  out.method = method;
  out.target = query.empty() ? path : cat(path, "?", query);
  out.path = path;
  out.query = query;
  out.headers = credentials;
  out.peer = peer;
  return out;
}

}  // namespace cardea::rest::pipeline

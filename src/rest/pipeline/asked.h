#pragma once
#include "authz/request_info.h"
#include "http/message.h"

namespace cardea::rest::pipeline {

// What is asked, by method and URL alone.
struct Asked {
  authz::RequestInfo info;
  bool is_pretty = false;  // whether a person reads the answer
};

Result<Asked> ask(const http::Request& request);

}  // namespace cardea::rest::pipeline

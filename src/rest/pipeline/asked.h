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

// Whether the client or another server decides when the answer ends: a watch, a connection.
bool is_long_running(const authz::RequestInfo& info);

}  // namespace cardea::rest::pipeline

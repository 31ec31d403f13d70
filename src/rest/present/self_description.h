#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "catalog/openapi/publication.h"
#include "rest/call.h"

namespace cardea::rest {

// The paths that are not resources: health, version, metrics, discovery, OpenAPI.
class SelfDescription {
 public:
  struct Options {
    std::string server_address;  // "127.0.0.1:6443", for clients that ask where
  };
  SelfDescription(CatalogHolder& catalog, Options options)
      : catalog_(catalog), options_(std::move(options)) {}

  // Ready means: all state is loaded. Until then /readyz and /healthz say no.
  void set_ready(bool ready) { ready_.store(ready); }
  // Asked for /metrics; gives Prometheus text.
  void set_metrics(std::function<std::string()> metrics) { metrics_ = std::move(metrics); }

  // Serves `body` at `path` to callers that may get it, for an hour. Before the first request.
  void add_document(std::string path, std::string content_type, std::string body);

  // The format of documents at this path. Discovery has a choice, all others are JSON.
  static Format format_of(const http::Request& request, const authz::RequestInfo& info);

  // nullopt: no such path.
  std::optional<Result<Answer>> answer(http::Request& request, const authz::RequestInfo& info);

 private:
  std::optional<Result<Answer>> health(http::Request& request, const authz::RequestInfo& info);
  std::optional<Result<Answer>> document(http::Request& request, const authz::RequestInfo& info);
  std::optional<Result<Answer>> openapi(http::Request& request, const authz::RequestInfo& info);
  std::optional<Result<Answer>> discovery(http::Request& request, const authz::RequestInfo& info);

  CatalogHolder& catalog_;
  catalog::Publication publication_;
  Options options_;
  std::atomic<bool> ready_{false};
  std::function<std::string()> metrics_;
  struct Document {
    std::string path, content_type, body;
  };
  std::vector<Document> documents_;
};

// Plain text, as `/healthz` and unknown paths answer.
Answer text_answer(int status, std::string text);

}  // namespace cardea::rest

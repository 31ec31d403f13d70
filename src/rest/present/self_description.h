#pragma once
#include <functional>
#include <optional>
#include <string>

#include "catalog/openapi/publication.h"
#include "rest/aggregation/merged_publication.h"
#include "rest/call.h"
#include "rest/present/debug_pages.h"
#include "rest/present/health.h"

namespace cardea::rest {

// The sources of the program, as /version tells them. Empty: not known.
struct BuildInfo {
  std::string commit, tree_state, date;
};

// The paths that are not resources: health, version, metrics, discovery, OpenAPI.
class SelfDescription {
 public:
  struct Options {
    std::string server_address;  // "127.0.0.1:6443", for clients that ask where
    BuildInfo build;
    DebugPages::Flags flags;
  };
  // `clock` outlives it.
  SelfDescription(CatalogHolder& catalog, const Clock& clock, Options options)
      : catalog_(catalog),
        options_(std::move(options)),
        debug_pages_(clock, std::move(options_.flags)) {}

  // The checks of /livez, /readyz and /healthz.
  Health& health() { return health_; }
  // Asked for /metrics; gives Prometheus text.
  void set_metrics(std::function<std::string()> metrics) { metrics_ = std::move(metrics); }
  // Asked for paths that nothing else has; gives the text of a page for people who look, or none.
  using Debug = std::function<std::optional<std::string>(const authz::RequestInfo&)>;
  void set_debug(Debug debug) { debug_ = std::move(debug); }

  // The versions of other servers are shown, too. It outlives this object; before the first
  // request.
  void set_aggregator(const Aggregator* aggregator) { merged_.set_aggregator(aggregator); }

  // Serves `body` at `path` to callers that may get it, for an hour. Before the first request.
  void add_document(std::string path, std::string content_type, std::string body);

  // The format of documents at this path. Discovery has a choice, all others are JSON.
  static Format format_of(const http::Request& request, const authz::RequestInfo& info);

  // nullopt: no such path.
  std::optional<Result<Answer>> answer(http::Request& request, const authz::RequestInfo& info);

 private:
  std::optional<Result<Answer>> document(http::Request& request, const authz::RequestInfo& info);
  std::optional<Result<Answer>> openapi(http::Request& request, const authz::RequestInfo& info);
  std::optional<Result<Answer>> discovery(http::Request& request, const authz::RequestInfo& info);

  CatalogHolder& catalog_;
  catalog::Publication publication_;
  MergedPublication merged_{publication_};
  Options options_;
  DebugPages debug_pages_;
  Health health_;
  std::function<std::string()> metrics_;
  Debug debug_;
  struct Document {
    std::string path, content_type, body;
  };
  std::vector<Document> documents_;
};

}  // namespace cardea::rest

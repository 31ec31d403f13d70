#pragma once
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace cardea::app {

// A file of the folder ui/, as it is in the program.
struct EmbeddedFile {
  std::string_view name;    // "app.js"
  std::string_view digest;  // SHA-256 in hex
  std::string_view bytes;
};

const std::vector<EmbeddedFile>& ui_files();  // made by cmake/embed_files.cmake

// Serves the page of --ui: the files under /ui/, and nothing else. All other requests go to `next`.
//
// The files are public: they are answered before authentication, hold no data of the cluster, and
// the page asks the API with the credentials of whoever looks at it. A path is compared with the
// names of the files as it was sent, so no spelling of `..` leads anywhere. Any thread.
class UiPages : public http::Handler {
 public:
  explicit UiPages(http::Handler& next) : next_(next) {}

  void handle(std::shared_ptr<http::Exchange> exchange) override;
  bool wants_body(const std::shared_ptr<http::Exchange>& exchange) const override;

  // The answer to a request for a path that is_own. For tests too.
  static http::Response answer(const http::Request& request);
  static bool is_own(std::string_view path);

 private:
  http::Handler& next_;
};

}  // namespace cardea::app

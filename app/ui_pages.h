#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "app/ui_sign_in.h"
#include "http/exchange.h"

namespace cardea::app {

// A file of the folder ui/, as it is in the program.
struct EmbeddedFile {
  std::string_view name;    // "app.js"
  std::string_view digest;  // SHA-256 in hex
  std::string_view bytes;
};

const std::vector<EmbeddedFile>& ui_files();  // made by cmake/embed_files.cmake

// Serves the page of --ui: the files under /ui/, where people can sign in (/ui/sign-in.json), and
// nothing else. All other requests go to `next`.
//
// The files are public: they are answered before authentication, hold no data of the cluster, and
// the page asks the API with the credentials of whoever looks at it. A path is compared with the
// names of the files as it was sent, so no spelling of `..` leads anywhere. Any thread.
class UiPages : public http::Handler {
 public:
  // `sign_in` says where people can sign in at the moment. Both outlive this object.
  UiPages(http::Handler& next, std::function<UiSignIn()> sign_in)
      : next_(next), sign_in_(std::move(sign_in)) {}

  void handle(std::shared_ptr<http::Exchange> exchange) override;
  bool wants_body(const std::shared_ptr<http::Exchange>& exchange) const override;

  // The answer to a request for a path that is_own. For tests too.
  static http::Response answer(const http::Request& request, const UiSignIn& sign_in = {});
  static bool is_own(std::string_view path);

 private:
  http::Handler& next_;
  const std::function<UiSignIn()> sign_in_;
};

}  // namespace cardea::app

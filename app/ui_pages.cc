#include "app/ui_pages.h"

#include <algorithm>

#include "base/strings.h"
#include "crypto/digest.h"
#include "http/gzip.h"

namespace cardea::app {
namespace {

constexpr std::string_view kFolder = "/ui/", kSignIn = "/ui/sign-in.json";

// Scripts and styles of this server alone, requests to it and to the issuers where people sign in,
// no text that becomes markup, and no frame around it.
std::string content_policy(const UiSignIn& sign_in) {
  std::string reachable = "'self'";
  for (const UiSignIn::Issuer& issuer : sign_in.issuers) reachable += cat(" ", issuer.origin);
  return cat(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src ",
      reachable,
      "; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; "
      "trusted-types 'none'");
}

struct Type {
  std::string_view suffix, name;
};
constexpr Type kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

std::string_view type_of(std::string_view name) {
  for (const Type& type : kTypes)
    if (name.ends_with(type.suffix)) return type.name;
  return "application/octet-stream";
}

http::Response with_guards(int status, std::string_view type, http::Body body,
                           const UiSignIn& sign_in = {}) {
  http::Response out;
  out.status = status;
  out.headers = {{"Content-Type", type},
                 {"Content-Security-Policy", content_policy(sign_in)},
                 {"X-Content-Type-Options", "nosniff"},
                 {"X-Frame-Options", "DENY"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cross-Origin-Opener-Policy", "same-origin"},
                 {"Cross-Origin-Resource-Policy", "same-origin"}};
  out.body = std::move(body);
  return out;
}

http::Response plain(int status, const char* text) {
  return with_guards(status, "text/plain; charset=utf-8", text);
}

const EmbeddedFile* find_file(std::string_view name) {
  if (name.empty()) name = "index.html";
  auto found = std::ranges::find(ui_files(), name, &EmbeddedFile::name);
  return found == ui_files().end() ? nullptr : &*found;
}

}  // namespace

bool UiPages::is_own(std::string_view path) {
  return path == "/ui" || path.starts_with(kFolder);
}

http::Response UiPages::answer(const http::Request& request, const UiSignIn& sign_in) {
  if (request.method != "GET" && request.method != "HEAD") {
    http::Response refused = plain(405, "only GET and HEAD\n");
    refused.headers.add("Allow", "GET, HEAD");
    return refused;
  }
  if (request.path == "/ui") {
    http::Response moved = plain(301, "the page is at /ui/\n");
    moved.headers.add("Location", kFolder);
    return moved;
  }
  if (request.path == kSignIn) {
    http::Response list = with_guards(200, "application/json", sign_in.document(), sign_in);
    list.headers.add("Cache-Control", "no-store");
    return list;
  }
  const EmbeddedFile* file = find_file(std::string_view(request.path).substr(kFolder.size()));
  if (!file) return plain(404, "404 page not found\n");
  // A browser that keeps a file keeps its headers, so the tag names both.
  const std::string policy = crypto::lower_hex(crypto::sha256(content_policy(sign_in)));
  const std::string tag = cat("\"", file->digest.substr(0, 32), "-", policy.substr(0, 8), "\"");
  const bool is_known = request.headers.get("if-none-match").contains(tag);
  http::Response out = with_guards(is_known ? 304 : 200, type_of(file->name),
                                   is_known ? http::Body() : http::Piece::literal(file->bytes),
                                   sign_in);
  // The form may be compressed, so the tag is a weak one.
  out.headers.add("ETag", cat("W/", tag));
  out.headers.add("Cache-Control", "no-cache");
  out.gzip = http::wants_gzip(request.headers, out.body.size());
  return out;
}

void UiPages::handle(std::shared_ptr<http::Exchange> exchange) {
  if (!is_own(exchange->request().path)) return next_.handle(std::move(exchange));
  exchange->respond(answer(exchange->request(), sign_in_()));
}

bool UiPages::wants_body(const std::shared_ptr<http::Exchange>& exchange) const {
  return !is_own(exchange->request().path) && next_.wants_body(exchange);
}

}  // namespace cardea::app

#include "rest/present/debug_pages.h"

#include <cstdio>
#include <ctime>

#include "base/strings.h"
#include "json/print.h"
#include "json/yaml.h"
#include "rest/present/health.h"
#include "rest/present/negotiation.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr const char* kPaths[] = {"/flagz",  "/healthz", "/livez",  "/metrics",
                                  "/readyz", "/statusz", "/version"};

// How Kubernetes begins such a page.
std::string opening(std::string_view page) {
  return cat("\napiserver ", page,
             "\nWarning: This endpoint is not meant to be machine parseable, has no formatting "
             "compatibility guarantees and is for debugging purposes only.\n");
}

// "Sat Jan 31 12:00:00 UTC 2026"
std::string unix_date(std::chrono::system_clock::time_point at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a %b %e %H:%M:%S UTC %Y", &parts)};
}

// "26 hr 03 min 20 sec"
std::string spoken(std::chrono::seconds time) {
  const std::chrono::hh_mm_ss parts(time);
  char text[64];
  const int size = std::snprintf(
      text, sizeof text, "%ld hr %02ld min %02ld sec", static_cast<long>(parts.hours().count()),
      static_cast<long>(parts.minutes().count()), static_cast<long>(parts.seconds().count()));
  return {text, static_cast<std::size_t>(size)};
}

Value document_of(std::string_view kind) {
  return Value::object({{"kind", kind},
                        {"apiVersion", "config.k8s.io/v1beta1"},
                        {"metadata", Value::object({{"name", "apiserver"}})}});
}

Answer document_answer(const Value& document, PageForm form) {
  const bool is_yaml = form == PageForm::kYaml;
  Answer a;
  a.is_raw = true;
  a.body = http::Body(is_yaml ? json::print_yaml(document) : json::print(document) + "\n");
  a.content_type = cat("application/", is_yaml ? "yaml" : "json",
                       ";g=config.k8s.io;v=v1beta1;as=", document["kind"].as_string());
  return a;
}

}  // namespace

Result<Answer> DebugPages::status(std::string_view accept) const {
  auto form = negotiate_page(accept, "Statusz");
  if (!form) return fail(form.error());
  const auto up = std::chrono::floor<std::chrono::seconds>(clock_.now() - started_);
  if (*form != PageForm::kText) {
    Value document = document_of("Statusz");
    document.set("startTime", rfc3339(started_));
    document.set("uptimeSeconds", up.count());
    document.set("goVersion", "none");
    document.set("binaryVersion", "1.36.3");
    document.set("emulationVersion", "1.36");
    Value paths = Value::array();
    for (const char* path : kPaths) paths.push_back(path);
    document.set("paths", std::move(paths));
    return document_answer(document, *form);
  }
  return text_answer(
      200, cat(opening("statusz"), "\nStarted: ", unix_date(started_), "\nUp: ", spoken(up),
               "\nGo version: none\nBinary version: 1.36.3\nEmulation version: 1.36\nPaths: ",
               join({std::begin(kPaths), std::end(kPaths)}, " "), "\n"));
}

Result<Answer> DebugPages::flags(std::string_view accept) const {
  auto form = negotiate_page(accept, "Flagz");
  if (!form) return fail(form.error());
  if (*form != PageForm::kText) {
    Value flags = Value::object();
    for (const auto& [name, value] : flags_) flags.set(name, value);
    Value document = document_of("Flagz");
    document.set("flags", std::move(flags));
    return document_answer(document, *form);
  }
  std::string text = opening("flagz");
  for (const auto& [name, value] : flags_) text += cat(name, "=", value, "\n");
  return text_answer(200, std::move(text));
}

std::optional<Result<Answer>> DebugPages::answer(const http::Request& request,
                                                 const authz::RequestInfo& info) const {
  const std::string_view accept = request.headers.get("accept");
  if (info.path == "/statusz") return status(accept);
  if (info.path == "/flagz") return flags(accept);
  if (info.path == "/debug/pprof" || info.path.starts_with("/debug/pprof/"))
    return text_answer(404,
                       "This server is not written in Go and has no pprof profiles. /metrics shows "
                       "its processor time and memory; `perf record -g -p PID` on its machine "
                       "shows where the time goes.\n");
  return std::nullopt;
}

}  // namespace cardea::rest

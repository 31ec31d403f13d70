#include <cstdio>

#include "authz/request_info.h"
#include "conformance/conformance.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

json::Value as_json(const authz::RequestInfo& info) {
  json::Value parts;
  if (info.is_resource_request) {
    parts = json::Value::array();
    for (const std::string& p : info.parts) parts.push_back(p);
  }
  return json::Value::object({{"isResourceRequest", info.is_resource_request},
                              {"path", info.path},
                              {"verb", info.verb},
                              {"apiPrefix", info.api_prefix},
                              {"apiGroup", info.api_group},
                              {"apiVersion", info.api_version},
                              {"namespace", info.namespace_name},
                              {"resource", info.resource},
                              {"subresource", info.subresource},
                              {"name", info.name},
                              {"parts", parts},
                              {"fieldSelector", info.field_selector},
                              {"labelSelector", info.label_selector}});
}

}  // namespace

Counts run_requestinfo(const std::string& path) {
  Counts counts;
  json::Value data = read(path);
  for (const json::Value& c : data["cases"].items()) {
    std::string_view url = c["url"].as_string();
    auto question = url.find('?');
    auto query = question == std::string_view::npos ? std::string_view() : url.substr(question + 1);
    auto info = authz::parse_request_info(c["method"].as_string(), url.substr(0, question), query);
    bool ok;
    std::string got;
    if (c.has("expectError")) {
      ok = !info;
      got = info ? "no error" : info.error().message;
    } else {
      json::Value value = info ? as_json(*info) : json::Value(info.error().message);
      ok = value == c["expect"];
      got = json::print(value);
    }
    counts.check(ok);
    if (!ok)
      std::printf("requestinfo %s: got %s, want %s\n", json::print(c["name"]).c_str(), got.c_str(),
                  json::print(c["expect"]).c_str());
  }
  return counts;
}

}  // namespace cardea::conformance

#include "rest/present/health.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::rest {

Answer text_answer(int status, std::string text) {
  Answer a;
  a.status = status;
  a.is_raw = true;
  a.body = http::Body(std::move(text));
  a.content_type = "text/plain; charset=utf-8";
  a.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return a;
}

void Health::add(std::string name, Of of, Trouble trouble) {
  checks_.push_back({std::move(name), of, std::move(trouble)});
}

Health::Stage& Health::add_stage(std::string name) {
  Stage& stage = stages_.emplace_back();
  add(std::move(name), Of::kReadiness,
      [&stage] { return std::string(stage.is_reached_.load() ? "" : "not ready"); });
  return stage;
}

std::optional<Answer> Health::answer(const authz::RequestInfo& info) const {
  std::string_view root, path = info.path;
  for (std::string_view one : {"/livez", "/readyz", "/healthz"})
    if (path == one || path.starts_with(cat(one, "/"))) root = one;
  if (root.empty()) return std::nullopt;
  auto is_asked = [&](const Check& c) {
    return root != "/livez" || c.of == Of::kLivenessAndReadiness;
  };
  path.remove_prefix(root.size());
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (!path.empty()) {
    for (const Check& c : checks_)
      if (c.name == path && is_asked(c)) {
        std::string trouble = c.trouble();
        return trouble.empty() ? text_answer(200, "ok")
                               : text_answer(500, cat("internal server error: ", trouble, "\n"));
      }
    return text_answer(404, "404 page not found\n");
  }

  std::vector<std::string_view> excluded = info.query.all("exclude");
  std::ranges::sort(excluded);
  excluded.erase(std::ranges::unique(excluded).begin(), excluded.end());
  bool is_well = true;
  std::string lines;
  for (const Check& c : checks_) {
    if (!is_asked(c)) continue;
    if (std::erase(excluded, c.name) > 0) {
      lines += cat("[+]", c.name, " excluded: ok\n");
      continue;
    }
    bool passes = c.trouble().empty();
    if (!passes && c.of == Of::kNothing) {
      lines += cat("[!]", c.name, " not usable: reason withheld\n");
      continue;
    }
    is_well &= passes;
    lines += cat(passes ? "[+]" : "[-]", c.name, passes ? " ok\n" : " failed: reason withheld\n");
  }
  if (!excluded.empty()) {
    std::vector<std::string> names;
    for (std::string_view name : excluded) names.push_back(quoted(name));
    lines += cat("warn: some health checks cannot be excluded: no matches for ", join(names, ","),
                 "\n");
  }
  if (!is_well) return text_answer(500, cat(lines, root.substr(1), " check failed\n"));
  if (!info.query.has("verbose")) return text_answer(200, "ok");
  return text_answer(200, cat(lines, root.substr(1), " check passed\n"));
}

}  // namespace cardea::rest

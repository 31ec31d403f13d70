#include "app/kube_client.h"

#include <algorithm>
#include <cstdlib>
#include <future>

#include "app/command_line.h"
#include "base/strings.h"
#include "http/url.h"
#include "json/parse.h"
#include "json/print.h"
#include "upstream/egress.h"
#include "upstream/endpoint_client.h"
#include "upstream/proxy_environment.h"

namespace cardea::app {

using json::Value;

namespace {

std::string default_kubeconfig() {
  if (const char* path = std::getenv("KUBECONFIG"); path && *path) return path;
  const char* home = std::getenv("HOME");
  return cat(home ? home : "", "/.kube/config");
}

const Value* named(const Value& list, std::string_view name) {
  for (const Value& r : list["resources"].items())
    if (r["name"].as_string() == name || r["singularName"].as_string() == name) return &r;
  for (const Value& r : list["resources"].items())
    for (const Value& s : r["shortNames"].items())
      if (s.as_string() == name) return &r;
  return nullptr;
}

http::Headers impersonation_of(const ServerChoice& choice) {
  http::Headers out;
  if (!choice.user.empty()) out.add("impersonate-user", choice.user);
  if (!choice.uid.empty()) out.add("impersonate-uid", choice.uid);
  for (const std::string& g : choice.groups) out.add("impersonate-group", g);
  for (const std::string& e : choice.extra) {
    std::size_t equals = e.find('=');
    out.add(cat("impersonate-extra-", http::escape_header_key(e.substr(0, equals))),
            e.substr(equals + 1));
  }
  return out;
}

Target target_of(const Value& entry, std::string_view group, std::string_view version,
                 std::string_view subresource) {
  return {.group = std::string(group),
          .version = std::string(version),
          .resource = std::string(entry["name"].as_string()),
          .subresource = std::string(subresource),
          .kind = std::string(entry["kind"].as_string()),
          .namespaced = entry["namespaced"].as_bool()};
}

// What an answer says that is none of those that were hoped for.
Error refusal_of(int status, const std::string& body) {
  auto document = json::parse(body);
  std::string_view said = document ? (*document)["message"].as_string() : "";
  return internal_error(
      cat("the server answered with status ", status, said.empty() ? "" : ": ", said));
}

class Download : public http::AnswerReader {
 public:
  explicit Download(KubeClient::Take take) : take_(std::move(take)) {}
  std::future<Result<void>> end() { return end_.get_future(); }

  void on_head(int status, const http::Headers&) override { status_ = status; }
  bool on_data(std::string_view bytes) override {
    if (status_ != 200) {
      constexpr std::size_t kMostText = 64u << 10;
      said_ += bytes.substr(0, kMostText - std::min(kMostText, said_.size()));
    } else if (!is_over_) {
      if (auto ok = take_(bytes); !ok) finish(fail(ok.error()));
    }
    return !is_over_;
  }
  void on_end(const http::Headers&) override {
    finish(status_ == 200 ? Result<void>() : fail(refusal_of(status_, said_)));
  }
  void on_failure(const Error& error) override { finish(fail(error)); }

 private:
  void finish(Result<void> how) {
    if (!std::exchange(is_over_, true)) end_.set_value(std::move(how));
  }

  const KubeClient::Take take_;
  int status_ = 0;
  std::string said_;
  bool is_over_ = false;
  std::promise<Result<void>> end_;
};

}  // namespace

void declare_server(CommandLine& line, ServerChoice& choice) {
  line.begin_group("Server");
  line.value("--kubeconfig", choice.kubeconfig, "FILE",
             "how to reach the server (default: $KUBECONFIG, else ~/.kube/config)");
  line.value("--context", choice.context, "NAME",
             "which context of that file (default: the current one)");
}

void declare_user(CommandLine& line, ServerChoice& choice) {
  line.begin_group("User");
  line.value("--as", choice.user, "USER", "asks in the name of another user");
  line.values("--as-group", choice.groups, "GROUP",
              "asks in the name of this group too; needs --as; may be repeated");
  line.value("--as-uid", choice.uid, "UID", "the uid of that user; needs --as");
  line.values("--as-user-extra", choice.extra, "KEY=VALUE",
              "more about that user; needs --as; may be repeated");
}

std::string problem_of(const ServerChoice& choice) {
  for (const std::string& e : choice.extra)
    if (e.find('=') == e.npos || e.starts_with('='))
      return cat("`--as-user-extra` is KEY=VALUE, not `", e, "`");
  if (!choice.user.empty()) return "";
  if (!choice.groups.empty()) return "`--as-group` needs `--as`";
  if (!choice.uid.empty()) return "`--as-uid` needs `--as`";
  if (!choice.extra.empty()) return "`--as-user-extra` needs `--as`";
  return "";
}

Result<std::unique_ptr<KubeClient>> KubeClient::make(const ServerChoice& choice) {
  auto upstream = upstream::read_kubeconfig(
      choice.kubeconfig.empty() ? default_kubeconfig() : choice.kubeconfig, choice.context);
  if (!upstream) return fail(upstream.error());
  auto tls = net::TlsClient::make(upstream->tls);
  if (!tls) return fail(tls.error());
  Result<std::unique_ptr<net::Dialer>> dialer = upstream::dialer_through(upstream->proxy);
  if (!upstream->proxy) dialer = upstream::dialer_of_environment();
  if (!dialer) return fail(dialer.error());
  return std::unique_ptr<KubeClient>(
      new KubeClient(std::move(*upstream), *tls, std::move(*dialer), choice));
}

KubeClient::KubeClient(upstream::Endpoint upstream, std::shared_ptr<const net::TlsClient> tls,
                       std::unique_ptr<net::Dialer> dialer, const ServerChoice& choice)
    : upstream_(std::move(upstream)),
      for_user_(impersonation_of(choice)),
      base_(upstream_.server),
      dialer_(std::move(dialer)),
      client_(loops_.at(0), *dialer_, std::move(tls)) {
  while (base_.ends_with('/')) base_.pop_back();
}

http::Call KubeClient::make_call(std::string method, const std::string& path) const {
  http::Call call{
      .method = std::move(method), .url = base_ + path, .timeout = std::chrono::seconds(30)};
  call.headers.add("content-type", "application/json");
  call.headers.add("accept", "application/json");
  call.headers.add("user-agent", "cardea");
  upstream::address(call, upstream_, upstream_.token);
  for (const auto& header : for_user_) call.headers.add(header.name, header.value);
  return call;
}

Result<Value> KubeClient::call(std::string method, const std::string& path, const Value* body) {
  http::Call call = make_call(std::move(method), path);
  if (body) call.body = json::print(*body);
  std::promise<Result<http::Answer>> promise;
  client_.send(std::move(call),
               [&promise](Result<http::Answer> a) { promise.set_value(std::move(a)); });
  Result<http::Answer> answer = promise.get_future().get();
  if (!answer) return fail(answer.error());
  auto document = json::parse(answer->body);
  if (answer->status >= 200 && answer->status < 300 && document) return document;
  return fail(refusal_of(answer->status, answer->body));
}

Result<void> KubeClient::download(std::string method, const std::string& path, Take take) {
  http::Call call = make_call(std::move(method), path);
  call.is_whole = true;
  auto reader = std::make_shared<Download>(std::move(take));
  std::future<Result<void>> end = reader->end();
  std::shared_ptr<http::OpenCall> open = client_.open(std::move(call), std::move(reader));
  Result<void> ended = end.get();
  if (!ended) open->cancel();
  return ended;
}

Result<Value> KubeClient::review(std::string_view group_version, std::string_view kind,
                                 Value spec) {
  Value body = Value::object(
      {{"apiVersion", group_version}, {"kind", kind}, {"spec", std::move(spec)}});
  std::string plural = cat(lower(kind), "s");
  return call("POST", cat("/apis/", group_version, "/", plural), &body);
}

Result<Target> find_target(KubeClient& server, std::string_view word) {
  auto slash = word.find('/');
  std::string_view subresource = slash == word.npos ? "" : word.substr(slash + 1);
  std::string_view name = word.substr(0, slash), group;
  auto dot = name.find('.');
  bool has_group = dot != name.npos;
  if (has_group) {
    group = name.substr(dot + 1);
    name = name.substr(0, dot);
  }
  if (!has_group) {
    auto core = server.call("GET", "/api/v1");
    if (!core) return fail(core.error());
    if (const Value* r = named(*core, name)) return target_of(*r, "", "v1", subresource);
  }
  auto groups = server.call("GET", "/apis");
  if (!groups) return fail(groups.error());
  for (const Value& g : (*groups)["groups"].items()) {
    std::string_view group_name = g["name"].as_string();
    for (const Value& v : g["versions"].items()) {
      std::string_view version = v["version"].as_string();
      bool preferred = v["groupVersion"] == g["preferredVersion"]["groupVersion"];
      bool wanted = !has_group ? preferred
                               : (group == group_name && preferred) ||
                                     group == cat(version, ".", group_name);
      if (!wanted) continue;
      auto list = server.call("GET", cat("/apis/", v["groupVersion"].as_string()));
      if (!list) continue;
      if (const Value* r = named(*list, name))
        return target_of(*r, group_name, version, subresource);
    }
  }
  return fail(Error{.reason = Reason::kNotFound,
                    .message = cat("the server has no resource `", word, "`")});
}

}  // namespace cardea::app

#include "rest/request_metrics.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

namespace cardea::rest {
namespace {

std::uint64_t hash_of(const RequestLabels& l) {
  std::uint64_t hash = l.is_dry_run;
  for (std::string_view part : {l.verb, l.group, l.version, l.resource, l.subresource, l.scope})
    hash = (hash ^ std::hash<std::string_view>()(part)) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

const std::vector<double>& duration_bounds() {
  static const std::vector<double> bounds = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8,
                                             1,     1.25,  1.5,  2,   3,   4,   5,   6,
                                             8,     10,    15,   20,  30,  45,  60};
  return bounds;
}

struct Named {
  std::string_view from, to;
};
constexpr Named kVerbs[] = {{"get", "GET"},       {"list", "LIST"},
                            {"watch", "WATCH"},   {"create", "POST"},
                            {"update", "PUT"},    {"patch", "PATCH"},
                            {"delete", "DELETE"}, {"deletecollection", "DELETECOLLECTION"},
                            {"post", "POST"},     {"put", "PUT"},
                            {"head", "HEAD"}};
constexpr std::string_view kPaths[] = {"/livez",   "/readyz",     "/healthz",   "/metrics",
                                       "/version", "/openapi/v2", "/openapi/v3"};

std::string_view scope_of(const authz::RequestInfo& info, const catalog::Resource& resource) {
  if (!info.name.empty() || info.verb == "create") return "resource";
  return info.namespace_name.empty() || !resource.namespaced ? "cluster" : "namespace";
}

bool is_read(std::string_view verb) {
  return verb == "GET" || verb == "LIST" || verb == "WATCH";
}

}  // namespace

RequestLabels labels_of(const authz::RequestInfo& info, const http::Request& request,
                        const catalog::Resource* resource) {
  RequestLabels out{.verb = "OTHER"};
  const Named* verb = std::ranges::find(kVerbs, std::string_view(info.verb), &Named::from);
  if (verb != std::end(kVerbs)) out.verb = verb->to;
  if (!info.is_resource_request) {
    const auto* path = std::ranges::find(kPaths, std::string_view(info.path));
    if (path != std::end(kPaths)) out.subresource = *path;
    return out;
  }
  if (out.verb == "PATCH" &&
      request.headers.get("content-type").starts_with("application/apply-patch"))
    out.verb = "APPLY";
  if (!resource) return out;
  const catalog::Subresource* sub = resource->subresource(info.subresource);
  const bool has_verb = sub ? std::ranges::find(sub->verbs, info.verb) != sub->verbs.end()
                            : info.subresource.empty() && resource->has_verb(info.verb);
  if (!has_verb) return out;
  out.group = resource->group;
  out.version = resource->version;
  out.resource = resource->name;
  out.scope = scope_of(info, *resource);
  if (sub) out.subresource = sub->name;
  out.is_dry_run = !is_read(out.verb) && info.query.has("dryRun");
  return out;
}

RequestSeries::RequestSeries(const RequestLabels& l, std::uint64_t hash)
    : hash_(hash),
      verb_(l.verb),
      group_(l.group),
      version_(l.version),
      resource_(l.resource),
      subresource_(l.subresource),
      scope_(l.scope),
      dry_run_(l.is_dry_run ? "All" : ""),
      durations_(duration_bounds()),
      sizes_(exponential_bounds(1000, 10, 7)) {}

void RequestSeries::count_code(int code) {
  for (Code& c : codes_) {
    int known = c.code.load(std::memory_order_relaxed);
    if (known == 0 && c.code.compare_exchange_strong(known, code, std::memory_order_relaxed))
      known = code;
    if (known != code) continue;
    c.count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  other_codes_.fetch_add(1, std::memory_order_relaxed);
}

void RequestSeries::count(int code, std::chrono::nanoseconds took, std::size_t bytes) {
  count_code(code);
  durations_.observe(took);
  if (verb_ == "GET" || verb_ == "LIST") sizes_.observe(bytes);
}

RequestMetrics::RequestMetrics() : others_({.verb = "OTHER"}, 0) {}

RequestSeries& RequestMetrics::find(const RequestLabels& labels) {
  const std::uint64_t hash = hash_of(labels);
  for (std::size_t i = 0; i < kProbes; ++i) {
    RequestSeries* found = slots_[(hash + i) % kSlots].load(std::memory_order_acquire);
    if (!found) break;
    if (found->hash_ == hash) return *found;
  }
  return make(labels, hash);
}

RequestSeries& RequestMetrics::make(const RequestLabels& labels, std::uint64_t hash) {
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kProbes; ++i) {
    std::atomic<RequestSeries*>& slot = slots_[(hash + i) % kSlots];
    RequestSeries* found = slot.load(std::memory_order_relaxed);
    if (found && found->hash_ == hash) return *found;
    if (found) continue;
    RequestSeries& series = made_.emplace_back(labels, hash);
    slot.store(&series, std::memory_order_release);
    return series;
  }
  return others_;
}

void RequestMetrics::print(MetricPrinter& out) const {
  std::vector<const RequestSeries*> all;
  {
    std::lock_guard lock(mutex_);
    for (const RequestSeries& s : made_) all.push_back(&s);
  }
  all.push_back(&others_);
  std::ranges::sort(all, {}, [](const RequestSeries* s) {
    return std::tie(s->group_, s->version_, s->resource_, s->subresource_, s->scope_, s->verb_,
                    s->dry_run_);
  });
  auto labels = [](const RequestSeries& s, MetricLabels more) {
    MetricLabels out = {{"component", s.resource_.empty() ? "" : "apiserver"}};
    for (auto& label : more) out.push_back(std::move(label));
    for (auto [name, value] :
         {std::pair("group", &s.group_), std::pair("resource", &s.resource_),
          std::pair("scope", &s.scope_), std::pair("subresource", &s.subresource_),
          std::pair("verb", &s.verb_), std::pair("version", &s.version_)})
      out.emplace_back(name, *value);
    return print_labels(out);
  };

  out.begin({"apiserver_request_total", "Requests that were answered."}, MetricType::kCounter);
  for (const RequestSeries* s : all) {
    auto add = [&](const std::string& code, std::uint64_t n) {
      if (n > 0) out.add_integer(labels(*s, {{"code", code}, {"dry_run", s->dry_run_}}), n);
    };
    for (const RequestSeries::Code& c : s->codes_)
      add(std::to_string(c.code.load(std::memory_order_relaxed)),
          c.count.load(std::memory_order_relaxed));
    add("other", s->other_codes_.load(std::memory_order_relaxed));
  }
  for (const MetricFamily& family :
       {MetricFamily{"apiserver_request_duration_seconds",
                     "How long answers took; watches are left out."},
        MetricFamily{"apiserver_request_sli_duration_seconds",
                     "The same, by the name that service level objectives use."}}) {
    out.begin(family, MetricType::kHistogram);
    for (const RequestSeries* s : all)
      if (!s->durations_.is_empty())
        out.add_histogram(labels(*s, {{"dry_run", s->dry_run_}}), s->durations_);
  }
  out.begin({"apiserver_response_sizes", "How many bytes the bodies of reads have."},
            MetricType::kHistogram);
  for (const RequestSeries* s : all)
    if (!s->sizes_.is_empty()) out.add_histogram(labels(*s, {}), s->sizes_);
  out.begin({"apiserver_longrunning_requests", "Watches that run."}, MetricType::kGauge);
  for (const RequestSeries* s : all)
    if (s->verb_ == "WATCH" && !s->resource_.empty())
      out.add_number(labels(*s, {}),
                     static_cast<double>(s->running_.load(std::memory_order_relaxed)));
}

}  // namespace cardea::rest

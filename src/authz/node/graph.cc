#include "authz/node/graph.h"

#include <algorithm>

namespace cardea::authz::node {

void Graph::link(const Vertex& v, std::string_view node, std::uint32_t times, bool is_there) {
  LinkKey key = hash_(static_cast<std::uint8_t>(v.kind), v.namespace_name, v.name, node);
  if (is_there)
    links_.add(key, times);
  else
    links_.remove(key, times);
}

void Graph::put(const Placement& p, bool is_there) {
  if (p.objects.empty()) return;
  if (is_there)
    ++nodes_[p.node];
  else if (auto at = nodes_.find(p.node); at != nodes_.end() && --at->second == 0)
    nodes_.erase(at);
  for (const Vertex& v : p.objects) {
    link(v, p.node, 1, is_there);
    if (v.kind != Kind::kClaim) continue;
    std::string key = cat(v.namespace_name, "/", v.name);
    Claim& claim = claims_[key];
    for (const Binding& b : claim.volumes)
      for (const Vertex& behind : b.objects) link(behind, p.node, 1, is_there);
    if (is_there)
      ++claim.nodes[p.node];
    else if (auto at = claim.nodes.find(p.node); at != claim.nodes.end() && --at->second == 0)
      claim.nodes.erase(at);
    if (claim.empty()) claims_.erase(key);
  }
}

void Graph::put(const Binding& b, bool is_there) {
  if (b.empty()) return;
  std::string key = cat(b.claim_namespace, "/", b.claim_name);
  Claim& claim = claims_[key];
  for (const auto& [node, times] : claim.nodes)
    for (const Vertex& v : b.objects) link(v, node, times, is_there);
  if (is_there)
    claim.volumes.push_back(b);
  else if (auto at = std::ranges::find(claim.volumes, b); at != claim.volumes.end())
    claim.volumes.erase(at);
  if (claim.empty()) claims_.erase(key);
}

void Graph::publish() {
  current_.set(std::make_shared<const LinkSet>(links_));
}

void Graph::change(const Placement& before, const Placement& after) {
  if (before == after) return;
  std::lock_guard lock(writing_);
  put(before, false);
  put(after, true);
  publish();
}

void Graph::change(const Binding& before, const Binding& after) {
  if (before == after) return;
  std::lock_guard lock(writing_);
  put(before, false);
  put(after, true);
  publish();
}

void Graph::change(const Changes& changes) {
  std::lock_guard lock(writing_);
  for (const auto& [before, after] : changes.placements) {
    put(before, false);
    put(after, true);
  }
  for (const auto& [before, after] : changes.bindings) {
    put(before, false);
    put(after, true);
  }
  publish();
}

std::shared_ptr<const Graph> Graph::frozen() const {
  return std::shared_ptr<const Graph>(new Graph(hash_, current_.get()));
}

Graph::Nodes Graph::nodes() const {
  std::lock_guard lock(writing_);
  Nodes out;
  out.names.reserve(nodes_.size());
  for (const auto& [name, count] : nodes_) out.names.push_back(name);
  out.graph = frozen();
  return out;
}

std::map<LinkKey, std::uint32_t> Graph::content() const {
  std::map<LinkKey, std::uint32_t> all;
  current_.get()->for_each([&](LinkKey key, std::uint32_t count) { all.emplace(key, count); });
  return all;
}

}  // namespace cardea::authz::node

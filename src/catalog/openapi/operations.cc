#include "catalog/openapi/operations.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::catalog::openapi {

namespace {

constexpr Parameter kListQuery[] = {
    {"allowWatchBookmarks", "boolean"},
    {"continue", "string"},
    {"fieldSelector", "string"},
    {"labelSelector", "string"},
    {"limit", "integer"},
    {"resourceVersion", "string"},
    {"resourceVersionMatch", "string"},
    {"sendInitialEvents", "boolean"},
    {"timeoutSeconds", "integer"},
    {"watch", "boolean"},
};
constexpr Parameter kWriteQuery[] = {
    {"dryRun", "string"}, {"fieldManager", "string"}, {"fieldValidation", "string"}};
constexpr Parameter kPatchQuery[] = {{"dryRun", "string"},
                                     {"fieldManager", "string"},
                                     {"fieldValidation", "string"},
                                     {"force", "boolean"}};
constexpr Parameter kDeleteQuery[] = {{"dryRun", "string"},
                                      {"gracePeriodSeconds", "integer"},
                                      {"orphanDependents", "boolean"},
                                      {"propagationPolicy", "string"}};
constexpr Parameter kDeleteCollectionQuery[] = {
    {"continue", "string"},          {"dryRun", "string"},
    {"fieldSelector", "string"},     {"gracePeriodSeconds", "integer"},
    {"labelSelector", "string"},     {"limit", "integer"},
    {"orphanDependents", "boolean"}, {"propagationPolicy", "string"},
    {"resourceVersion", "string"},   {"resourceVersionMatch", "string"},
    {"timeoutSeconds", "integer"},
};
constexpr Parameter kGetQuery[] = {{"resourceVersion", "string"}};

constexpr std::string_view kStatus = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
constexpr std::string_view kDeleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
constexpr std::string_view kPatch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

std::string capitalised(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 32);
  return out;
}

// "Apps", "Core", "ExampleCom": a part of operation identifiers.
std::string group_identifier(std::string_view group) {
  if (group.empty()) return "Core";
  if (group.ends_with(".k8s.io")) group.remove_suffix(7);
  std::string out;
  for (std::string_view label : split(group, '.')) out += capitalised(label);
  return out;
}

std::string group_tag(std::string_view group) {
  std::string tag = group_identifier(group);
  tag[0] = static_cast<char>(tag[0] | 32);
  return tag;
}

Path self_description(std::string path, std::string tag, std::string id, std::string_view answer) {
  Path out{.path = std::move(path), .tag = std::move(tag), .operations = {}};
  out.operations.push_back({.method = "get",
                            .action = "",
                            .id = std::move(id),
                            .description = "what is available here",
                            .answer = cat("io.k8s.apimachinery.pkg.", answer),
                            .codes = {200},
                            .kind = {}});
  return out;
}

// Writes the operations of one resource or subresource.
class Writer {
 public:
  explicit Writer(const Resource& r) : r_(r) {
    group_version_ = group_identifier(r.group) + capitalised(r.version);
    type_ = type_name(r);
    kind_ = {r.group, r.version, r.kind};
    tag_ = cat(group_tag(r.group), "_", r.version);
    root_ = r.group.empty() ? cat("/api/", r.version) : cat("/apis/", r.group, "/", r.version);
  }

  std::vector<Path> run() {
    std::string scoped = r_.namespaced ? cat(root_, "/namespaces/{namespace}/", r_.name)
                                       : cat(root_, "/", r_.name);
    std::string noun = cat(r_.namespaced ? "Namespaced" : "", r_.kind);
    collection(scoped, noun);
    single(scoped + "/{name}", noun);
    for (const Subresource& sub : r_.subresources)
      subresource(cat(scoped, "/{name}/", sub.name), noun, sub);
    if (r_.namespaced && r_.has_verb("list")) {
      Path path = start(cat(root_, "/", r_.name), false, false);
      path.operations.push_back(list(cat(r_.kind, "ForAllNamespaces")));
      out_.push_back(std::move(path));
    }
    return std::move(out_);
  }

 private:
  Path start(std::string path, bool name, bool in_namespace) const {
    return {.path = std::move(path),
            .tag = tag_,
            .has_name = name,
            .has_namespace = in_namespace,
            .operations = {}};
  }

  std::string id(std::string_view verb, std::string_view noun) const {
    return cat(verb, group_version_, noun);
  }

  Operation list(std::string_view noun) const {
    return {.method = "get",
            .action = "list",
            .id = id("list", noun),
            .description = cat("list or watch ", r_.name),
            .query = kListQuery,
            .answer = list_type_name(r_),
            .codes = {200},
            .kind = kind_};
  }

  void collection(const std::string& where, const std::string& noun) {
    Path path = start(where, false, r_.namespaced);
    if (r_.has_verb("list")) path.operations.push_back(list(noun));
    if (r_.has_verb("create"))
      path.operations.push_back({.method = "post",
                                 .action = "post",
                                 .id = id("create", noun),
                                 .description = cat("create one of ", r_.name),
                                 .query = kWriteQuery,
                                 .body = type_,
                                 .body_required = true,
                                 .answer = type_,
                                 .codes = {200, 201, 202},
                                 .kind = kind_});
    if (r_.has_verb("deletecollection"))
      path.operations.push_back({.method = "delete",
                                 .action = "deletecollection",
                                 .id = id("delete", cat("Collection", noun)),
                                 .description = cat("delete many ", r_.name),
                                 .query = kDeleteCollectionQuery,
                                 .body = std::string(kDeleteOptions),
                                 .answer = std::string(kStatus),
                                 .codes = {200},
                                 .kind = kind_});
    if (!path.operations.empty()) out_.push_back(std::move(path));
  }

  Operation read(std::string_view noun, const std::string& type,
                 const GroupVersionKind& kind) const {
    return {.method = "get",
            .action = "get",
            .id = id("read", noun),
            .description = cat("read one of ", r_.name),
            .query = r_.is_custom ? std::span<const Parameter>(kGetQuery)
                                  : std::span<const Parameter>(),
            .answer = type,
            .codes = {200},
            .kind = kind};
  }

  Operation replace(std::string_view noun, const std::string& type,
                    const GroupVersionKind& kind) const {
    return {.method = "put",
            .action = "put",
            .id = id("replace", noun),
            .description = cat("replace one of ", r_.name),
            .query = kWriteQuery,
            .body = type,
            .body_required = true,
            .answer = type,
            .codes = {200, 201},
            .kind = kind};
  }

  Operation patch(std::string_view noun, const std::string& type,
                  const GroupVersionKind& kind) const {
    return {.method = "patch",
            .action = "patch",
            .id = id("patch", noun),
            .description = cat("change a part of one of ", r_.name),
            .query = kPatchQuery,
            .body = std::string(kPatch),
            .body_required = true,
            .answer = type,
            .codes = {200, 201},
            .is_patch = true,
            .strategic = !r_.is_custom,
            .kind = kind};
  }

  void single(const std::string& where, const std::string& noun) {
    Path path = start(where, true, r_.namespaced);
    if (r_.has_verb("get")) path.operations.push_back(read(noun, type_, kind_));
    if (r_.has_verb("update")) path.operations.push_back(replace(noun, type_, kind_));
    if (r_.has_verb("delete"))
      path.operations.push_back({.method = "delete",
                                 .action = "delete",
                                 .id = id("delete", noun),
                                 .description = cat("delete one of ", r_.name),
                                 .query = kDeleteQuery,
                                 .body = std::string(kDeleteOptions),
                                 .answer = std::string(kStatus),
                                 .codes = {200, 202},
                                 .kind = kind_});
    if (r_.has_verb("patch")) path.operations.push_back(patch(noun, type_, kind_));
    if (!path.operations.empty()) out_.push_back(std::move(path));
  }

  void subresource(const std::string& where, const std::string& parent, const Subresource& sub) {
    Path path = start(where, true, r_.namespaced);
    GroupVersionKind kind = sub.version.empty()
                                ? GroupVersionKind{r_.group, r_.version, sub.kind}
                                : GroupVersionKind{sub.group, sub.version, sub.kind};
    std::string noun = parent + capitalised(sub.name);
    std::string type = sub.schema && !sub.schema->type_name.empty() ? sub.schema->type_name
                                                                    : std::string();
    if (r_.is_custom && sub.name == "status") type = type_;
    if (!sub.schema) return connect(std::move(path), noun, sub, kind);
    if (sub.name == "log") type.clear();
    for (const std::string& verb : sub.verbs) {
      if (verb == "get") path.operations.push_back(read(noun, type, kind));
      if (verb == "update") path.operations.push_back(replace(noun, type, kind));
      if (verb == "patch") path.operations.push_back(patch(noun, type, kind));
      if (verb == "create")
        path.operations.push_back({.method = "post",
                                   .action = "post",
                                   .id = id("create", noun),
                                   .description = cat("create ", sub.name, " of one of ", r_.name),
                                   .query = kWriteQuery,
                                   .body = type,
                                   .body_required = true,
                                   .answer = type,
                                   .codes = {200, 201, 202},
                                   .kind = kind});
    }
    out_.push_back(std::move(path));
  }

  void connect(Path path, const std::string& noun, const Subresource& sub,
               const GroupVersionKind& kind) {
    struct Method {
      std::string_view verb, method;
    };
    for (auto [verb, method] : {Method{"get", "get"},
                                {"update", "put"},
                                {"create", "post"},
                                {"delete", "delete"},
                                {"patch", "patch"}}) {
      if (std::ranges::find(sub.verbs, verb) == sub.verbs.end()) continue;
      path.operations.push_back(
          {.method = method,
           .action = "connect",
           .id = id("connect", capitalised(method) + noun),
           .description = cat("connect to ", sub.name, " of one of ", r_.name),
           .codes = {200},
           .kind = kind});
    }
    out_.push_back(std::move(path));
  }

  const Resource& r_;
  std::string group_version_, type_, tag_, root_;
  GroupVersionKind kind_;
  std::vector<Path> out_;
};

}  // namespace

std::string type_name(const Resource& resource) {
  if (!resource.is_custom) return resource.schema->type_name;
  auto labels = split(resource.group, '.');
  std::string out;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) out += cat(*label, ".");
  return cat(out, resource.version, ".", resource.kind);
}

std::string list_type_name(const Resource& resource) {
  if (!resource.is_custom) return type_name(resource) + "List";
  std::string type = type_name(resource);
  return type.substr(0, type.size() - resource.kind.size()) + resource.list_kind;
}

std::vector<Path> paths_of(const Resource& resource) {
  return Writer(resource).run();
}

Path version_path() {
  return self_description("/version/", "version", "getCodeVersion", "version.Info");
}

Path core_discovery_path() {
  return self_description("/api/", "core", "getCoreAPIVersions", "apis.meta.v1.APIVersions");
}

Path groups_discovery_path() {
  return self_description("/apis/", "apis", "getAPIVersions", "apis.meta.v1.APIGroupList");
}

Path discovery_path(const Group& group) {
  return self_description(cat("/apis/", group.name, "/"), group_tag(group.name),
                          cat("get", group_identifier(group.name), "APIGroup"),
                          "apis.meta.v1.APIGroup");
}

Path discovery_path(const Group& group, const Version& version) {
  std::string root = group.name.empty() ? "/api/" : cat("/apis/", group.name, "/");
  return self_description(
      cat(root, version.name, "/"), cat(group_tag(group.name), "_", version.name),
      cat("get", group_identifier(group.name), capitalised(version.name), "APIResources"),
      "apis.meta.v1.APIResourceList");
}

bool has_builtin(const Group& group) {
  for (const Version& version : group.versions)
    for (const Resource* resource : version.resources)
      if (!resource->is_custom) return true;
  return false;
}

}  // namespace cardea::catalog::openapi

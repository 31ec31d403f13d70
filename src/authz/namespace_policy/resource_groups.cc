#include "authz/namespace_policy/resource_groups.h"

#include <algorithm>
#include <set>

#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

using Map = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Named {
  std::string_view name, members;  // separated by spaces
};
constexpr Named kBuiltIn[] = {
    {"builds",
     "builds builds/clone builds/log buildconfigs buildconfigs/instantiate buildconfigs/webhooks "
     "buildlogs"},
    {"deployments",
     "deployments deploymentconfigs generatedeploymentconfigs deploymentconfigrollbacks"},
    {"images",
     "images imagerepositories imagerepositorymappings imagerepositorytags imagestreams "
     "imagestreamimages imagestreammappings imagestreamtags"},
    {"oauth", "oauthauthorizetokens oauthaccesstokens oauthclients oauthclientauthorizations"},
    {"users", "users groups identities useridentitymappings"},
    {"templates", "templates templateconfigs processedtemplates"},
    {"sdn", "clusternetworks hostsubnets netnamespaces"},
    {"policy", "policies policybindings"},
    {"granter", "roles rolebindings resourceaccessreviews subjectaccessreviews"},
    {"quota", "limitranges resourcequotas resourcequotausages"},
    {"exposedopenshift",
     "resourcegroup:builds resourcegroup:deployments resourcegroup:images resourcegroup:templates "
     "routes"},
    {"allopenshift",
     "resourcegroup:exposedopenshift resourcegroup:users resourcegroup:oauth resourcegroup:policy "
     "resourcegroup:sdn "
     "resourcegroup:granter resourcegroup:allopenshift-status projects"},
    {"allopenshift-status", "imagestreams/status routes/status"},
    {"privatekube", "minions nodes bindings events namespaces"},
    {"exposedkube",
     "pods pods/log replicationcontrollers serviceaccounts services endpoints "
     "persistentvolumeclaims"},
    {"allkube",
     "resourcegroup:privatekube resourcegroup:exposedkube resourcegroup:quota "
     "resourcegroup:allkube-status secrets"},
    {"allkube-status",
     "pods/status resourcequotas/status namespaces/status replicationcontrollers/status"},
    {"escalating", "oauthauthorizetokens oauthaccesstokens secrets"},
    {"non-escalating",
     "resourcegroup:allkube resourcegroup:allopenshift -resourcegroup:escalating"},
};

bool is_group(std::string_view word) {
  return word.starts_with(kGroupWord);
}

void add_once(std::vector<std::string>& list, std::string word) {
  if (std::ranges::find(list, word) == list.end()) list.push_back(std::move(word));
}

// Opens nested groups, each group once.
class Opening {
 public:
  Opening(const Map& written, json::FieldErrors& errors) : written_(written), errors_(errors) {}

  Map all() {
    for (const auto& [name, members] : written_) open(name);
    return std::move(done_);
  }

 private:
  const std::vector<std::string>* open(const std::string& name) {
    if (auto at = done_.find(name); at != done_.end()) return &at->second;
    if (!under_way_.insert(name).second) {
      errors_.push_back(json::invalid(name, name, "a resource group must not contain itself"));
      return nullptr;
    }
    std::vector<std::string> in, out;
    for (const std::string& word : written_.find(name)->second) {
      bool is_negated = word.starts_with('-');
      std::vector<std::string>& to = is_negated ? out : in;
      std::string plain = is_negated ? word.substr(1) : word;
      if (!is_group(plain)) {
        add_once(to, plain);
        continue;
      }
      std::string nested = plain.substr(kGroupWord.size());
      if (!written_.contains(nested))
        errors_.push_back(json::not_found(name, plain));
      else if (const auto* members = open(nested))
        for (const std::string& m : *members) add_once(to, m);
    }
    std::erase_if(in, [&](const std::string& m) { return std::ranges::find(out, m) != out.end(); });
    under_way_.erase(name);
    return &done_.insert_or_assign(name, std::move(in)).first->second;
  }

  const Map& written_;
  json::FieldErrors& errors_;
  Map done_;
  std::set<std::string> under_way_;
};

Map written_built_in() {
  Map written;
  for (const Named& g : kBuiltIn)
    for (std::string_view word : split(g.members, ' '))
      written[std::string(g.name)].emplace_back(word);
  return written;
}

}  // namespace

const ResourceGroups& ResourceGroups::built_in() {
  static const ResourceGroups groups = [] {
    json::FieldErrors errors;
    return ResourceGroups(Opening(written_built_in(), errors).all());
  }();
  return groups;
}

ResourceGroups ResourceGroups::with(const json::Value& document, json::FieldErrors& errors) {
  Map written = written_built_in();
  if (!document.is_object())
    errors.push_back(json::type_invalid("", document, "resource groups are an object of lists"));
  for (const json::Member& m : document.members()) {
    std::vector<std::string> words;
    if (!m.value.is_array())
      errors.push_back(
          json::type_invalid(std::string(m.key()), m.value, "must be a list of resources"));
    for (const json::Value& word : m.value.items()) {
      if (word.is_string() && !word.as_string().empty())
        words.push_back(lower(word.as_string()));
      else
        errors.push_back(
            json::invalid(std::string(m.key()), word, "must be the name of a resource"));
    }
    written.insert_or_assign(lower(m.key()), std::move(words));
  }
  return ResourceGroups(Opening(written, errors).all());
}

const std::vector<std::string>* ResourceGroups::members(std::string_view name) const {
  auto at = open_.find(name);
  return at == open_.end() ? nullptr : &at->second;
}

bool ResourceGroups::expand(const std::vector<std::string>& kinds,
                            std::vector<std::string>& out) const {
  bool is_whole = true;
  for (const std::string& word : kinds) {
    bool is_negated = word.starts_with('-');
    std::string_view plain = std::string_view(word).substr(is_negated ? 1 : 0);
    const std::vector<std::string>* members = is_group(plain)
                                                  ? this->members(plain.substr(kGroupWord.size()))
                                                  : nullptr;
    if (!members) {
      is_whole &= !is_group(plain);
      out.push_back(word);
      continue;
    }
    for (const std::string& m : *members) out.push_back(is_negated ? cat("-", m) : m);
  }
  return is_whole;
}

}  // namespace cardea::authz::namespace_policy

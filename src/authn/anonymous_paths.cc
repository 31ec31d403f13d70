#include "authn/anonymous_paths.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authn {
namespace {

class AnonymousPaths : public Authenticator {
 public:
  explicit AnonymousPaths(std::vector<std::string> paths)
      : paths_(std::move(paths)), anyone_(anonymous_authenticator()) {}

  std::optional<Outcome> authenticate(const Credentials& credentials) const override {
    const auto plain = percent_decode(credentials.path);
    if (!plain || std::ranges::find(paths_, *plain) == paths_.end())
      return Outcome(std::optional<Identity>());
    return anyone_->authenticate(credentials);
  }

 private:
  const std::vector<std::string> paths_;
  const std::unique_ptr<Authenticator> anyone_;
};

}  // namespace

std::unique_ptr<Authenticator> anonymous_authenticator_for(std::vector<std::string> paths) {
  return std::make_unique<AnonymousPaths>(std::move(paths));
}

}  // namespace cardea::authn

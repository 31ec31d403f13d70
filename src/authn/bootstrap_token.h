#pragma once
#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"
#include "base/clock.h"
#include "store/store.h"

namespace cardea::authn {

// Recognises bootstrap tokens, with which machines join a cluster: `ID.SECRET`, both of them in the
// Secret `bootstrap-token-ID` of the namespace kube-system. The Secret is read with every request,
// so that deleting it revokes the token at once. A token that does not fit its Secret, or has
// expired, is a token that this authenticator does not know, as in kube-apiserver. `audiences` are
// those of this server. The store and the clock must outlive the authenticator.
std::unique_ptr<Authenticator> bootstrap_token_authenticator(const store::Store& store,
                                                             const Clock& clock,
                                                             std::vector<std::string> audiences);

}  // namespace cardea::authn

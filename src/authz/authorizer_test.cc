#include "authz/authorizer.h"

#include <gtest/gtest.h>

namespace cardea::authz {
namespace {

template <typename T>
T run(Task<T> task) {
  std::optional<T> value;
  spawn(std::move(task), [&](T v) { value.emplace(std::move(v)); });
  return std::move(*value);
}

class Fixed : public Authorizer {
 public:
  explicit Fixed(std::optional<Decision> d) : decision_(std::move(d)) {}
  std::string_view name() const override { return "fixed"; }
  std::optional<Decision> authorize(const Attributes&) const override { return decision_; }

 private:
  std::optional<Decision> decision_;
};

template <typename... D>
Chain chain(D... decisions) {
  std::vector<std::shared_ptr<const Authorizer>> list;
  (list.push_back(std::make_unique<Fixed>(decisions)), ...);
  return Chain(std::move(list));
}

const User kJane{.name = "jane"};

RequestInfo info(std::string_view method, std::string_view path) {
  return *parse_request_info(method, path, "");
}

TEST(Decision, TheDefaultOneDenies) {
  EXPECT_FALSE(Decision().allowed());
}

TEST(Chain, AnEmptyChainAllowsNothing) {
  RequestInfo r = info("GET", "/api/v1/pods");
  auto v = run(chain().authorize({kJane, r}));
  EXPECT_FALSE(v.decision.allowed());
  EXPECT_FALSE(v.permit);
}

TEST(Chain, TheFirstOpinionWins) {
  RequestInfo r = info("GET", "/api/v1/pods");
  EXPECT_TRUE(run(chain(Decision::no_opinion("x"), Decision::allow("a"), Decision::deny("d"))
                      .authorize({kJane, r}))
                  .permit);
  EXPECT_FALSE(run(chain(Decision::deny("d"), Decision::allow("a")).authorize({kJane, r})).permit);
}

TEST(Chain, AnErrorIsNeverAnAllow) {
  RequestInfo r = info("GET", "/api/v1/pods");
  Decision broken = Decision::no_opinion("", "boom");
  auto v = run(chain(broken, broken).authorize({kJane, r}));
  EXPECT_FALSE(v.permit);
  EXPECT_EQ(v.decision.error, "boom");
}

TEST(Chain, AnAuthorizerThatCannotWaitDenies) {
  RequestInfo r = info("GET", "/api/v1/pods");
  EXPECT_FALSE(
      run(chain(std::optional<Decision>(), Decision::allow()).authorize({kJane, r})).permit);
}

TEST(Forbidden, IsWordedAsKubernetesWordsIt) {
  RequestInfo r = info("GET", "/apis/apps/v1/namespaces/n/deployments/d/scale");
  EXPECT_EQ(forbidden({kJane, r}, "").message,
            "deployments.apps \"d\" is forbidden: User \"jane\" cannot get resource "
            "\"deployments/scale\" in API group "
            "\"apps\" in the namespace \"n\"");
  r = info("GET", "/metrics");
  EXPECT_EQ(forbidden({kJane, r}, "why").message,
            "forbidden: User \"jane\" cannot get path \"/metrics\": why");
}

}  // namespace
}  // namespace cardea::authz

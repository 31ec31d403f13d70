#include "rest/conversion/turns.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <vector>

namespace cardea::rest {
namespace {

using namespace std::chrono_literals;

// Takes turns on a loop, and keeps them.
class TurnsTest : public testing::Test {
 protected:
  // What happens on the loop, in order.
  void on_loop(std::function<void()> what) {
    std::promise<void> done;
    loops.at(0).post([&] {
      what();
      done.set_value();
    });
    done.get_future().get();
  }
  void ask(const std::string& name, std::chrono::milliseconds patience = 60'000ms) {
    on_loop([&] {
      spawn(turns.take(name, patience), [this, name](Result<Turns::Turn> turn) {
        log.push_back(turn ? name : name + " refused");
        if (turn) held.push_back(std::move(*turn));
      });
    });
  }
  void end_first() {
    on_loop([&] { held.erase(held.begin()); });
    on_loop([] {});  // what that brought has come
  }
  std::vector<std::string> said() {
    std::vector<std::string> out;
    on_loop([&] { out = log; });
    return out;
  }

  net::Loops loops{1};
  Turns turns{{.of_name = 1, .in_all = 2, .waiting = 3}};
  std::vector<Turns::Turn> held;
  std::vector<std::string> log;
  void TearDown() override {
    on_loop([&] { held.clear(); });
    on_loop([&] { held.clear(); });
  }
};

using Names = std::vector<std::string>;

TEST_F(TurnsTest, TheyComeInOrderAndANameThatIsFullHoldsNobodyElseUp) {
  for (const char* name : {"a", "a", "b"}) ask(name);
  EXPECT_EQ(said(), (Names{"a", "b"}));
  ask("c");
  EXPECT_EQ(said(), (Names{"a", "b"})) << "two are under way in all";
  end_first();
  EXPECT_EQ(said(), (Names{"a", "b", "a"})) << "the second a came before c";
  end_first();
  EXPECT_EQ(said(), (Names{"a", "b", "a", "c"}));
}

TEST_F(TurnsTest, WhoWaitsTooLongIsRefused) {
  ask("a");
  ask("a", 1ms);
  for (;;)
    if (said().size() == 2) break;
  EXPECT_EQ(said()[1], "a refused");
  end_first();
  ask("a");
  EXPECT_EQ(said().back(), "a");
}

TEST_F(TurnsTest, TheQueueHasAnEnd) {
  for (const char* name : {"a", "a", "a", "a", "a"}) ask(name);
  EXPECT_EQ(said(), (Names{"a", "a refused"}));
  for (int i = 0; i < 3; ++i) end_first();
  EXPECT_EQ(said(), (Names{"a", "a refused", "a", "a", "a"}));
}

}  // namespace
}  // namespace cardea::rest

#include "base/trace.h"

#include <gtest/gtest.h>

namespace cardea {
namespace {

constexpr char kParent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Trace, TheContextOfAClientIsRead) {
  const auto context = parse_traceparent(kParent);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(context->trace[0], 0x0a);
  EXPECT_EQ(context->parent[7], 0x31);
  EXPECT_TRUE(parse_traceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more"));
  EXPECT_FALSE(
      parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->is_sampled);
}

TEST(Trace, WhatIsNoContextIsNotRead) {
  for (const char* text : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                           "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
                           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"})
    EXPECT_FALSE(parse_traceparent(text)) << text;
}

TEST(Trace, SpansLieInEachOther) {
  Trace trace({}, false, "request");
  {
    TraceSpan outer(&trace, "authorization");
    TraceSpan inner(&trace, "authorizer", "rbac");
  }
  {
    TraceSpan next(&trace, "store");
  }
  TraceSpan none(nullptr, "nothing");
  trace.finish();
  ASSERT_EQ(trace.spans().size(), 4u);
  EXPECT_EQ(trace.spans()[2].name, "authorizer rbac");
  EXPECT_EQ(trace.spans()[2].parent, 1u);
  EXPECT_EQ(trace.spans()[3].parent, 0u);
  for (const Span& span : trace.spans()) EXPECT_GE(span.ended, span.began) << span.name;
}

TEST(Trace, HasAnEnd) {
  Trace trace({}, false, "request");
  for (int i = 0; i < 1000; ++i) {
    TraceSpan outer(&trace, "a");
    TraceSpan inner(&trace, "b");
  }
  trace.finish();
  EXPECT_EQ(trace.spans().size(), 256u);
  for (const Span& span : trace.spans()) EXPECT_GE(span.ended, span.began) << span.name;
}

TEST(Trace, IsContinuedByOthersBelowTheSpanThatIsOpen) {
  const auto context = parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  Trace trace(*context, true, "request", 0);
  EXPECT_EQ(trace.traceparent(), "00-0af7651916cd43dd8448eb211c80319c-0100000000000000-00")
      << "nobody has accepted it";
  trace.accept(true);
  trace.begin("authorization");
  const std::string inner = trace.traceparent();
  EXPECT_EQ(inner, "00-0af7651916cd43dd8448eb211c80319c-0300000000000000-01");
  EXPECT_EQ(parse_traceparent(inner)->parent, trace.span_id(1));
  trace.end();
  EXPECT_TRUE(trace.traceparent().ends_with("-0100000000000000-01"));
}

}  // namespace
}  // namespace cardea

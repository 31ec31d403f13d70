#include "schema/custom/formats.h"

#include <gtest/gtest.h>

namespace cardea::schema {
namespace {

struct Case {
  const char* format;
  std::initializer_list<const char*> good, bad;
};

TEST(Formats, AcceptWhatKubernetesAccepts) {
  const Case kCases[] = {
      {"date-time",
       {"2020-01-01T00:00:00Z", "2014-12-15T19:30:20.000z", "2020-02-29T23:59:59+02:00"},
       {"", "2020-01-01", "2021-02-29T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T00:00:00",
        "x"}},
      {"date", {"2020-02-29"}, {"2021-02-29", "2020-1-1", "2020-01-01T"}},
      {"ipv4",
       {"1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"},
       {"1.2.3", "1.2.3.256", "::1", "1.2.3.4.5"}},
      {"ipv6",
       {"::", "::1", "2001:db8::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::"},
       {"1:2:3", "1::2::3", "1.2.3.4", "g::", "1:2:3:4:5:6:7:8:9", ":1"}},
      {"cidr",
       {"10.0.0.0/8", "::/0", "2001:db8::/32"},
       {"10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/"}},
      {"mac",
       {"00:00:5e:00:53:01", "02-00-5e-10-00-00-00-01", "0000.5e00.5301"},
       {"00:00:5e", "00:00:5e:00:53:0g"}},
      {"uuid",
       {"123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"},
       {"x", "123e4567"}},
      {"uuid3", {"123e4567-e89b-32d3-a456-426614174000"}, {"123e4567-e89b-42d3-a456-426614174000"}},
      {"uuid4", {"123e4567-e89b-42d3-a456-426614174000"}, {"123e4567-e89b-42d3-1456-426614174000"}},
      {"uuid5", {"123e4567-e89b-52d3-b456-426614174000"}, {"123e4567-e89b-42d3-a456-426614174000"}},
      {"isbn", {"0321751043", "978-0321751041"}, {"0321751044", "978-0321751042", "1"}},
      {"isbn10", {"0321751043", "0-306-40615-2"}, {"978-0321751041"}},
      {"isbn13", {"978-0321751041"}, {"0321751043"}},
      {"creditcard", {"4111-1111-1111-1111"}, {"4111111111111112", "12"}},
      {"ssn", {"111-11-1111", "111 11 1111"}, {"111111111", "11-111-1111"}},
      {"hexcolor", {"#FFFFFF", "abc"}, {"#FFFF", "#ggg"}},
      {"rgbcolor",
       {"rgb(255,255,255)", "rgb( 0 , 1 , 2 )"},
       {"rgb(256,0,0)", "rgb(1,2)", "255,255,255"}},
      {"byte", {"AA==", "QUJD"}, {"!", "", "AAA"}},
      {"password", {"", "anything"}, {}},
      {"duration", {"1h30m", "22 ns", "3 days", "0"}, {"x", "", "5 fortnights"}},
      {"hostname",
       {"example.com", "a", "my-host.example", "a-b"},
       {"-a", "a_b", "a..b", "", "my-host"}},
      {"uri",
       {"http://a/b", "/path", "https://h:80/x?y=z", "mailto:x"},
       {"", "a b", "http://h:x/", "/%zz"}},
      {"email", {"a@b.c", "Jane <jane@example.com>"}, {"a", "@b", "a@", "a b@c"}},
      {"bsonobjectid", {"507f1f77bcf86cd799439011"}, {"507f1f77", "zzzf1f77bcf86cd799439011"}},
      {"k8s-short-name", {"abc-1"}, {"A", "a.b", "-a"}},
      {"k8s-long-name", {"a.b-c"}, {"A.b", "a..b"}},
  };
  for (const Case& c : kCases) {
    const Format* format = find_format(c.format);
    ASSERT_NE(format, nullptr) << c.format;
    for (const char* text : c.good) EXPECT_TRUE(format->accepts(text)) << c.format << " " << text;
    for (const char* text : c.bad) EXPECT_FALSE(format->accepts(text)) << c.format << " " << text;
  }
}

TEST(Formats, IgnoreNamesNobodyKnows) {
  EXPECT_EQ(find_format("banana"), nullptr);
}

}  // namespace
}  // namespace cardea::schema

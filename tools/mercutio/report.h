// `mercutio report`: what a trace says, for people, programs and spreadsheets.
#pragma once

#include <cstdint>
#include <string>

namespace mercutio::tool {

struct ReportOptions {
  std::string trace;
  bool json = false, csv = false, stats = false;
  std::string page, perfetto, compare;  // files
  std::int64_t events = 20000;
};

int report(const ReportOptions& options);

}  // namespace mercutio::tool

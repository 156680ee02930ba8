// What both measuring commands need: texts, numbers and pictures.
#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "../launcher.h"
#include "../scratch.h"

namespace mercutio::tool {

// Draws a JSON table with plot.py: 0, or 1 with a message.
int plot(const std::string& json, const std::string& picture);

double median(std::vector<double> values);  // 0 of none
std::string joined(const Words& words, const char* separator);
Words split(const std::string& text, char separator);
std::string fixed(double value, int digits);

// The words of a flat JSON object as the measuring programs print them; empty when `line` is none.
using FlatJson = std::map<std::string, std::string>;
FlatJson parse_flat_json(const std::string& line);
double number(const FlatJson& values, const char* key);  // 0 when it is not there

void json_number(std::ostream& out, const char* name, const std::optional<double>& value);

}  // namespace mercutio::tool

// The answers of S3 are small XML documents without attributes that matter: what is between <Name> and </Name> is all that is needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mercutio_s3 {

// The contents of all elements of that name, from the outermost; an element isn't searched again inside itself.
std::vector<std::string_view> elements(std::string_view xml, std::string_view name);
// The text of the first one, with what its entities and references to characters stand for; "" where there is none.
std::string text_of(std::string_view xml, std::string_view name);
std::string escaped(std::string_view text);   // for an element's content

}  // namespace mercutio_s3

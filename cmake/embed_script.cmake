# Writes OUTPUT: a table of {path, bytes} for the "|"-separated FILES below ROOT. Bytes are hex escapes in pieces, so
# that no content can end a literal early.
string(REPLACE "|" ";" files "${FILES}")
string(REPEAT "." 256 line)
set(text "#include \"jit/embedded_data.h\"\n\nnamespace moetune {\n\nconst EmbeddedData embedded_data[] = {\n")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" escaped "${hex}")
  # A string literal ends every 64 bytes: compilers limit one literal's length, and \x takes all digits that follow.
  string(REGEX REPLACE "(${line})" "\\1\"\n     \"" escaped "${escaped}")
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(APPEND text "    {\"${file}\", ${bytes},\n     \"${escaped}\"},\n")
endforeach()
string(APPEND text "};\nconst unsigned embedded_data_count = sizeof(embedded_data) / sizeof(embedded_data[0]);\n\n}  // namespace moetune\n")
file(WRITE "${OUTPUT}" "${text}")

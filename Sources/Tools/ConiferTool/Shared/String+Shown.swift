extension String {
  /// The text as one line of a report for people: what would begin another line, or tell a terminal to do something, is
  /// written by its number.
  var shown: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
        text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }

  /// The text as one word of a shell's command.
  var quoted: String { "'" + replacing("'", with: #"'\''"#) + "'" }
}

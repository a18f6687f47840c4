extension String {
  /// The beginning of a name that somebody else chose, fit for a log: some 64 bytes, and what does
  /// not show, or changes what else shows, as its number.
  var excerpt: String {
    var words = ""
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        words += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: words.unicodeScalars.append(scalar)
      }
      if words.utf8.count > 64 { return words + "…" }
    }
    return words
  }
}

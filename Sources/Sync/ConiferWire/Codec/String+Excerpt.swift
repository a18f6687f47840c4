extension String {
  /// The beginning of a name from the other side, safe for a log: about 64 bytes. Invisible characters,
  /// and those that change how others look, are written as numbers.
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

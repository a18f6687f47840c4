import Testing

extension StateText {
  /// A text without what housekeeping changes: how much is stored, and when queries were used.
  static func withoutUsage(_ text: String) -> String {
    var isUsage = false
    return text.split(separator: "\n").filter { line in
      if line.hasSuffix("\"usage\": {") { isUsage = true }
      defer { if line.hasSuffix("}") { isUsage = false } }
      return !isUsage && !line.contains("lastUse")
    }.joined(separator: "\n")
  }

  /// Compares line by line, and shows the first difference alone.
  static func expectSame(_ found: String, _ expected: String) {
    let found = found.split(separator: "\n")
    let expected = expected.split(separator: "\n")
    for (number, pair) in zip(found, expected).enumerated() where pair.0 != pair.1 {
      Issue.record("line \(number + 1) is \(pair.0), not \(pair.1)")
      return
    }
    #expect(found.count == expected.count)
  }
}

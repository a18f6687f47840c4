internal import ConiferKeyValue

/// The environment variables that control the checks; Docs/WriteABackend.md lists them.
enum Variable {
  /// Values that replace the environment's in a task, by name.
  @TaskLocal static var values: [String: String] = [:]

  /// A variable's value, if it is set.
  static func text(_ name: String) -> String? { values[name] ?? System.variable(name) }

  /// Whether `CONIFER_CHECK` asks for a check: it is not set, or one of its phrases is in the check's words.
  static func asksFor(_ check: String) -> Bool {
    guard let phrases = text("CONIFER_CHECK")?.split(separator: "|"), !phrases.isEmpty else {
      return true
    }
    return phrases.contains { check.contains($0) }
  }

  /// The failure for a `CONIFER_CHECK` that matches no check of the kit, so that a typing error is
  /// not taken for success.
  static var unknownCheck: ConformanceFailure? {
    guard let text = text("CONIFER_CHECK") else { return nil }
    let every =
      StoreCheck.every.map(\.name) + BackendCheck.every.map(\.description)
      + ProcessCheck.every.map(\.description) + StoreMutation.every.map(\.name)
    if every.contains(where: asksFor) { return nil }
    return refusal("CONIFER_CHECK", text, "phrases of the checks' names, separated by |")
  }

  /// Whether `CONIFER_MUTATIONS` asks for the faults too whose checks take seconds.
  static var asksForAllMutations: Bool { text("CONIFER_MUTATIONS") == "all" }

  /// The failure for a `CONIFER_MUTATIONS` of the wrong form.
  static var unknownMutations: ConformanceFailure? {
    guard let text = text("CONIFER_MUTATIONS"), text != "all" else { return nil }
    return refusal("CONIFER_MUTATIONS", text, "\"all\", or nothing")
  }

  /// A number of things to try.
  ///
  /// - Throws: ``ConformanceFailure`` when the value is not a number of at least 1.
  static func count(_ name: String) throws -> Int? {
    guard let text = text(name) else { return nil }
    guard let number = Int(text), number > 0 else {
      throw refusal(name, text, "a number from 1 on")
    }
    return number
  }

  /// The seed that is asked for.
  ///
  /// - Throws: ``ConformanceFailure`` when the value is not a number.
  static func seed() throws -> UInt64? {
    guard let text = text("CONIFER_SEED") else { return nil }
    guard let seed = UInt64(text) else { throw refusal("CONIFER_SEED", text, "a number from 0 on") }
    return seed
  }

  /// The failure for a value of the wrong form.
  static func refusal(_ name: String, _ text: String, _ form: String) -> ConformanceFailure {
    ConformanceFailure("\(name)=\(text) is not valid. Set \(form).")
  }
}

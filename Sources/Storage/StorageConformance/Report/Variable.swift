internal import ConiferKeyValue

/// The variables of the environment that say what the checks try, as Docs/WriteABackend.md lists them.
enum Variable {
  /// Values that hold in a task instead of the environment's, by name.
  @TaskLocal static var values: [String: String] = [:]

  /// A variable's value, if it is set.
  static func text(_ name: String) -> String? { values[name] ?? System.variable(name) }

  /// A number of things to try.
  ///
  /// - Throws: ``ConformanceFailure`` when the value is none that is at least 1.
  static func count(_ name: String) throws -> Int? {
    guard let text = text(name) else { return nil }
    guard let number = Int(text), number > 0 else {
      throw refusal(name, text, "a number from 1 on")
    }
    return number
  }

  /// The seed that is asked for.
  ///
  /// - Throws: ``ConformanceFailure`` when the value is none.
  static func seed() throws -> UInt64? {
    guard let text = text("CONIFER_SEED") else { return nil }
    guard let seed = UInt64(text) else { throw refusal("CONIFER_SEED", text, "a number from 0 on") }
    return seed
  }

  /// What is said of a value that has another form.
  static func refusal(_ name: String, _ text: String, _ form: String) -> ConformanceFailure {
    ConformanceFailure("\(name)=\(text) says nothing: it takes \(form).")
  }
}

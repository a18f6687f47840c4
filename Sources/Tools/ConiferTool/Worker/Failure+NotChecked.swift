/// What keeps a store, or a copy of it, from being looked at, and says nothing about the store: `not-checked`.
extension Failure {
  /// The codes that an opened copy fails with when the directory for temporary files is to blame: the copy was made by
  /// this user, and from files that could be read.
  private static let codesOfCopy: Set<String> = ["full", "denied", "io", "poisoned", "no-input"]

  /// Whether the failure to look at a copy is one of the copy, not of the store.
  var isOfCopy: Bool { code == "not-checked" || Self.codesOfCopy.contains(code) }

  /// A failure of the copy, or of a process that was to look at it.
  static func notChecked(_ cause: any Error) -> Failure {
    let cause = Failure(cause) ?? Failure("io", .io, "\(cause)")
    guard cause.code != "not-checked" else { return cause }
    let reason = cause.message.hasSuffix(".") ? cause.message : cause.message + "."
    return Failure(
      "not-checked", cause.status,
      "The store was not checked, which says nothing about it: \(reason) Nothing was changed.")
  }

  /// A process that was killed before it had an answer.
  static func stopped(_ how: String) -> Failure {
    notChecked(
      Failure(
        "stopped", .io,
        "the process that reads it was killed (\(how)), by somebody or since memory ran out."))
  }

  /// Does something whose failures say nothing about the store.
  static func asNotChecked<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw notChecked(error) }
  }
}

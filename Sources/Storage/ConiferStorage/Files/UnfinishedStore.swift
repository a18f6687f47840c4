package import ConiferKeyValue

/// A store that is being made out of another one. A file beside its data, which ``OwnerLock``
/// checks, keeps everybody out except the code that makes it.
///
/// The first line of the file tells users what to do; the other lines belong to the code that makes
/// the store.
package enum UnfinishedStore {
  /// The file's name in the store's directory.
  package static let file = "unfinished"

  @TaskLocal private static var isMaking = false

  /// Marks a store, durably, before anything of it is there.
  ///
  /// - Parameter lines: what to do about the store, in a sentence, and what its maker wants to know.
  /// - Throws: `denied`, `full`, `io`.
  package static func mark(_ directory: String, _ lines: [String]) throws(StoreError) {
    let text = lines.map { $0 + "\n" }.joined()
    try Directory.put(Bytes(text.utf8), at: "\(directory)/\(file)")
  }

  /// The lines of a store's mark, or nil when it has none.
  ///
  /// - Throws: `denied`, `io`.
  package static func lines(_ directory: String) throws(StoreError) -> [String]? {
    guard let bytes = try Directory.contents("\(directory)/\(file)", limit: 1 << 14) else {
      return nil
    }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Removes a store's mark, durably: the store is complete.
  ///
  /// - Throws: `denied`, `io`.
  package static func finish(_ directory: String) throws(StoreError) {
    for name in [file, file + ".new"] { Directory.remove("\(directory)/\(name)") }
    try Platform.syncDirectory(directory)
  }

  /// Lets a closure open stores that are marked.
  ///
  /// - Throws: what the closure throws.
  package static func making<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try $isMaking.withValue(true) {
      Result { () throws(StoreError) in try body() }
    }.get()
  }

  /// Refuses a store that is marked.
  ///
  /// - Throws: `foreign`, `denied`, `io`.
  static func check(_ directory: String) throws(StoreError) {
    guard !isMaking, let lines = try lines(directory) else { return }
    throw StoreError(
      .foreign,
      "The store in \(directory) is not whole: \(lines.first ?? "wait for whoever makes it"). Nothing was "
        + "changed.")
  }
}

package import ConiferKeyValue

/// A store that is being made out of another one. A file beside its data, which ``OwnerLock``
/// checks, keeps everybody out except the code that makes it.
///
/// The first line of the file tells users what to do; the other lines belong to the code that makes
/// the store.
package enum UnfinishedStore {
  /// The file's name in the store's directory.
  package static let file = "unfinished"
  /// What a process that is killed while it marks a store may leave.
  static let draft = file + ".new"
  /// The name of a mark that keeps nobody out any more, and that its maker still needs.
  static let ended = file + ".ended"

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
  package static func lines(
    _ directory: String, in file: String = file
  ) throws(StoreError) -> [String]? {
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
    Directory.remove("\(directory)/\(draft)")
    try Directory.removeFile("\(directory)/\(file)")
    try Platform.syncDirectory(directory)
  }

  /// Gives a store's mark a name by which it keeps nobody out, durably: the store is complete.
  ///
  /// - Throws: `denied`, `full`, `io`.
  static func end(_ directory: String) throws(StoreError) {
    Directory.remove("\(directory)/\(draft)")
    try Directory.move("\(directory)/\(file)", to: "\(directory)/\(ended)")
    try Platform.syncDirectory(directory)
  }

  /// Whether no store was ever made in a directory: what a process leaves there that ends before it marks it is nothing, and
  /// so are the files of others.
  ///
  /// - Throws: `denied`, `io`.
  static func isNothing(_ directory: String, _ names: StoreNames) throws(StoreError) -> Bool {
    guard !Directory.isMissing(directory) else { return true }
    guard try Set(names.all(in: directory)).isSubset(of: ["owner", draft, ended, PlainMark.name])
    else { return false }
    return try OwnerLock.text(in: directory).kind == .none
  }

  /// Removes a marked store, the mark last, so that half of it can never be opened, and then its directory when nothing else
  /// is in it; also a directory in which no store was made.
  ///
  /// - Parameters:
  ///   - names: what of it is the store's; all else stays.
  ///   - isMeant: whether the mark is that of the store to be removed; asked when nobody else can change it. Another
  ///     store stays: somebody may have made it there when another process had removed this one.
  /// - Returns: whether nothing is left of what was to be removed.
  static func remove(
    _ directory: String, _ names: StoreNames, if isMeant: () throws(StoreError) -> Bool
  ) -> Bool {
    let lock = try? making { () throws(StoreError) in try OwnerLock(path: directory + "/owner") }
    guard let lock else { return Directory.isMissing(directory) }
    defer { lock.release() }
    do throws(StoreError) {
      if try !isMeant() {
        guard try isNothing(directory, .untold) else { return true }
      }
      // While anything of the store is there, the owner's file says so.
      for kept in [[file, "owner"], [file]] {
        for name in try names.all(in: directory) where !kept.contains(name) {
          Directory.remove("\(directory)/\(name)")
        }
        guard try Set(names.all(in: directory)).isSubset(of: kept) else { return false }
      }
      try Platform.syncDirectory(directory)
    } catch {
      return false
    }
    Directory.remove("\(directory)/\(file)")
    // It stays where it is a volume of its own, or has files of others.
    Directory.removeEmpty(directory)
    return Directory.isMissing("\(directory)/\(file)")
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

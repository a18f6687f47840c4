package import ConiferKeyValue

/// A directory beside a store in which a salvage works, and which nobody else uses meanwhile.
package final class Workshop: Sendable {
  private static let mark = "workshop"

  /// Its path.
  package let directory: String
  private let lock: OwnerLock

  /// Where the new store is made.
  package var made: String { directory + "/store" }
  /// Where the rows of the damaged one are put.
  var rows: String { directory + "/rows" }
  /// Where its files may be copied to.
  var copy: String { directory + "/copy" }

  /// Makes the directory; one that a killed salvage left is emptied first.
  ///
  /// - Throws: `foreign` when something else is there, `busy`, `denied`, `full`, `io`.
  package init(_ directory: String) throws(StoreError) {
    try Platform.makeDirectory(Platform.parent(of: directory))
    let isNew = try Directory.make(directory)
    if !isNew {
      let names = try Directory.names(in: directory)
      guard names.contains(Self.mark) || Set(names).isSubset(of: ["owner", Self.mark + ".new"])
      else {
        throw StoreError(
          .foreign,
          "\(directory) is in the way of a salvage: move it, or name another new store.")
      }
    }
    self.directory = directory
    lock = try OwnerLock(path: directory + "/owner")
    try Directory.put([], at: "\(directory)/\(Self.mark)")
    for path in [made, rows, copy] { Directory.remove(path) }
  }

  /// Removes the directory.
  package func remove() {
    for path in [made, rows, copy] { Directory.remove(path) }
    lock.release()
    Directory.remove(directory)
  }
}

package import ConiferKeyValue

/// The directory in which a salvage makes the new store; a lock keeps everybody else out.
package final class SalvageDirectory: Sendable {
  /// The file that marks such a directory.
  private static let mark = "workshop"

  /// Its path.
  package let path: String
  private let lock: OwnerLock

  /// Where the new store is made.
  package var store: String { path + "/store" }
  /// Where the rows of the damaged store are put.
  var rows: String { path + "/rows" }
  /// Where the files of the damaged store may be copied to.
  var copy: String { path + "/copy" }

  /// Makes the directory, and empties one that a killed salvage left.
  ///
  /// - Throws: `foreign` when something else is there, `busy`, `denied`, `full`, `io`.
  package init(_ path: String) throws(StoreError) {
    try Platform.makeDirectory(Platform.parent(of: path))
    let isNew = try Directory.make(path)
    if !isNew {
      let names = try Directory.names(in: path)
      guard names.contains(Self.mark) || Set(names).isSubset(of: ["owner", Self.mark + ".new"])
      else {
        throw StoreError(
          .foreign, "\(path) is in the way of a salvage: move it, or name another new store.")
      }
    }
    self.path = path
    lock = try OwnerLock(path: path + "/owner")
    try Directory.put([], at: "\(path)/\(Self.mark)")
    for part in [store, rows, copy] { Directory.remove(part) }
  }

  /// Whether a directory is one that a salvage has made; nothing is changed.
  package static func isOne(_ path: String) -> Bool {
    !Directory.isMissing("\(path)/\(mark)")
  }

  /// Removes the directory.
  package func remove() {
    for part in [store, rows, copy] { Directory.remove(part) }
    lock.release()
    Directory.remove(path)
  }
}

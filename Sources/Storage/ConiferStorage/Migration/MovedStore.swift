import ConiferKeyValue

/// An earlier store all of which another one holds. A mark in it says so, and keeps everybody from opening it, wherever it
/// is renamed to, until nothing of it is left.
enum MovedStore {
  /// The second line of the mark.
  private static let maker = "conifer storage moved 1"
  /// The fourth line once the new store can be opened.
  private static let over = "over"

  /// Marks a store, durably, which makes the new one count. The caller has its lock, so that nobody writes to it meanwhile.
  ///
  /// - Parameters:
  ///   - id: that of the new store's mark.
  ///   - target: the new store's directory.
  ///   - isOver: whether the new store can be opened already. Until then this one can be moved to another place instead.
  /// - Throws: `denied`, `full`, `io`.
  static func mark(
    _ directory: String, id: UInt64, movedTo target: String, isOver: Bool
  ) throws(StoreError) {
    try UnfinishedStore.mark(
      directory,
      [
        "the app has moved it to \(target.filter { !$0.isNewline }), and removes what is left of it here",
        maker, id.hex, isOver ? over : "",
      ])
  }

  /// Whether a store was moved into one that somebody may have opened, so that what it holds is of before.
  ///
  /// - Throws: `denied`, `io`.
  static func isOver(_ directory: String) throws(StoreError) -> Bool {
    guard try id(of: directory) != nil, let lines = try UnfinishedStore.lines(directory) else {
      return false
    }
    return lines.count >= 4 && lines[3] == over
  }

  /// The id in a store's mark; nil for one that was not moved.
  ///
  /// - Throws: `denied`, `io`.
  static func id(of directory: String) throws(StoreError) -> UInt64? {
    guard let lines = try UnfinishedStore.lines(directory), lines.count >= 3, lines[1] == maker
    else { return nil }
    return UInt64(lines[2], radix: 16)
  }

  /// The first name that a moved store gets before it is removed.
  static func aside(_ directory: String) -> String { directory + ".moved" }

  /// What is left of moved stores beside a store's place, under the names that they got.
  ///
  /// - Throws: `denied`, `io`.
  static func leftovers(beside directory: String) throws(StoreError) -> [String] {
    let aside = aside(directory)
    guard !Directory.isMissing(Platform.parent(of: aside)) else { return [] }
    var found: [String] = []
    do throws(StoreError) {
      for path in try Directory.series(like: aside) {
        // A process that was killed before it gave a store the name left an empty directory.
        let isEmpty = (try? UnfinishedStore.isNothing(path, .untold)) ?? false
        if try isEmpty ? true : id(of: path) != nil { found.append(path) }
      }
    } catch {
      // Where this process may not look, it has renamed nothing.
      guard error.code == .denied else { throw error }
    }
    return found
  }
}

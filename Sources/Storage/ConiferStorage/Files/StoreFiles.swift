internal import ConiferKeyValue

/// The files by which ``OwnerLock`` tells whether a directory has a store of a kind, none yet, one
/// that lost its main file, or one of another kind.
public struct StoreFiles: Hashable, Sendable {
  /// The kind's name, as in URLs.
  public let kind: String
  /// The name of the file without which there is no store.
  public let main: String
  /// The names of files that a store of this kind alone fills, and only when its main file is there durably.
  public let later: Set<String>

  /// The files of a kind of store.
  ///
  /// - Parameters:
  ///   - kind: the kind's name, as in URLs: 1 to 64 letters, digits, `+`, `-`, `.` or `_` of ASCII; of
  ///     another name nothing is recorded, so that it is never refused.
  ///   - main: the name of the file without which there is no store.
  ///   - later: the names of files that no other kind has, and that get their first byte only when the main file is
  ///     there durably, so that one with bytes beside no main file is damage.
  public init(kind: String, main: String, later: Set<String> = []) {
    self.kind = kind
    self.main = main
    self.later = later
  }

  /// Refuses a directory with a store of another kind, and one whose main file is gone.
  ///
  /// - Parameters:
  ///   - recorded: what the owner's file says of the kind.
  ///   - directory: the store's.
  /// - Throws: `foreign`, `damaged`.
  func check(_ recorded: OwnerText.Kind, in directory: String) throws(StoreError) {
    if case .recorded(let other) = recorded, other != kind {
      throw StoreError(
        .foreign,
        "\(directory) holds a store of \(other), not of \(kind), as its file owner says: open it as "
          + "\(other), or use another directory. Nothing was changed.")
    }
    // A changed line beside the main file costs nothing: it is written anew.
    guard Directory.isMissing("\(directory)/\(main)") else { return }
    let trace: String
    switch recorded {
    case .recorded: trace = "its file owner says that"
    case .damaged:
      throw StoreError(
        .damaged,
        "\(directory)/owner is damaged: a store was there, and of what kind cannot be read. If it is none "
          + "of \(kind), open it as what it is, which mends the file; otherwise \(main) is missing too. "
          + Self.remedy)
    case .none:
      guard let file = later.sorted().first(where: { Directory.hasBytes("\(directory)/\($0)") })
      else { return }
      trace = "\(file) is only made when"
    }
    throw StoreError(
      .damaged,
      "\(directory)/\(main) is missing, and \(trace) a store of \(kind) is there. \(Self.remedy)")
  }

  private static let remedy =
    "Restore the directory from a copy; or openOrSalvage() or conifer salvage save what its other files "
    + "hold; or remove it to begin anew. Nothing was changed."
}

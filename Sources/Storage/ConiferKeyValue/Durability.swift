/// What failures a finished commit survives, such as power loss; order and atomicity hold at every
/// level.
///
/// A level covers all commits before it too: after a `.power` commit every earlier one is as safe.
public enum Durability: UInt8, Comparable, Sendable, CaseIterable {
  /// May stay in the process's own buffer: survives only an orderly close.
  case relaxed
  /// Survives the death of the process, not of the machine.
  case process
  /// Survives power loss, as far as the medium keeps its own promises.
  case power

  /// Orders the levels by what they survive.
  public static func < (a: Durability, b: Durability) -> Bool { a.rawValue < b.rawValue }
}

/// The number of a commit, strictly increasing over the life of a store that stays open.
public struct CommitID: Hashable, Comparable, Sendable {
  /// The number; 0 stands for "before the first commit since opening".
  public let rawValue: UInt64

  /// The commit with a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Orders commits by the time of their application.
  public static func < (a: CommitID, b: CommitID) -> Bool { a.rawValue < b.rawValue }
}

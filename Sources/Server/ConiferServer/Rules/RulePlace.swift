/// Where a rule stands in a rules file.
public struct RulePlace: Hashable, Sendable {
  /// What a rule is for.
  public enum Kind: String, Hashable, Sendable {
    /// Grants reading.
    case read = ".read"
    /// Grants writing.
    case write = ".write"
    /// Says what data must be like.
    case validate = ".validate"
  }

  /// The nodes that it is for, as the file has them: `/rooms/$room`.
  public let pattern: String
  /// What it is for.
  public let kind: Kind
  /// The line of its value, counted from 1.
  public let line: Int
  /// The column of its value in UTF-8 bytes, counted from 1.
  public let column: Int
}

extension RulePlace: CustomStringConvertible {
  /// Its name, nodes and line, without data: `.write of /rooms/$room (line 7, column 19)`.
  public var description: String {
    "\(kind.rawValue) of \(pattern) (line \(line), column \(column))"
  }
}

/// The position of a rule in a rules file.
public struct RulePlace: Hashable, Sendable {
  /// Whether a rule is for reading, for writing, or for the validation of data.
  public enum Kind: String, Hashable, Sendable {
    /// Grants reading.
    case read = ".read"
    /// Grants writing.
    case write = ".write"
    /// Says what data must look like.
    case validate = ".validate"
  }

  /// The nodes that the rule applies to, as in the file: `/rooms/$room`.
  public let pattern: String
  /// The kind of the rule.
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

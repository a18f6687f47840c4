/// Why a rules file is not taken, and where in it.
public struct RulesError: Error, Hashable, Sendable {
  /// The line, counted from 1.
  public let line: Int
  /// The column in UTF-8 bytes, counted from 1.
  public let column: Int
  /// What is wrong, and where it can be told how to mend it.
  public let message: String

  /// Why a rules file is not taken.
  ///
  /// - Parameters:
  ///   - line: the line, counted from 1.
  ///   - column: the column in UTF-8 bytes, counted from 1.
  ///   - message: what is wrong.
  public init(line: Int, column: Int, message: String) {
    self.line = line
    self.column = column
    self.message = message
  }
}

extension RulesError: CustomStringConvertible {
  /// Line, column and message, as the Realtime Database tells them: `3:14: Unknown variable 'foo'.`
  public var description: String { "\(line):\(column): \(message)" }
}

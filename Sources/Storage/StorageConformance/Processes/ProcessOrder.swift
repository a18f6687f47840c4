/// What a second process is to do for a check; an exit test captures it.
public struct ProcessOrder: Sendable, Codable {
  /// The signal by which the process must end, 0 for an exit with success.
  public let signal: Int32
  /// The check's name.
  let check: String
  /// Where the check's files are.
  let directory: String
  /// What is different this time.
  let argument: String
}

/// The instruction for the second process of a check; an exit test captures it.
public struct ProcessOrder: Sendable, Codable {
  /// The signal that must end the process, 0 for an exit with success.
  public let signal: Int32
  /// The check's name.
  let check: String
  /// Where the check's files are.
  let directory: String
  /// An argument for this run.
  let argument: String
}

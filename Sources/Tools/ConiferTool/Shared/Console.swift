import Synchronization

/// A command's output and environment.
struct Console: Sendable {
  /// Takes output for the user or the next program.
  var write: @Sendable ([UInt8]) throws -> Void
  /// Takes a line for the user beside the output; progress overwrites its own line.
  var note: @Sendable (String) -> Void
  /// Redraws the line of progress; empty removes it. Nil where nobody watches.
  var redraw: (@Sendable (String) -> Void)?
  /// The value of an environment variable.
  var environment: @Sendable (String) -> String?
  private let shownLines = ShownLines()

  /// The process's own.
  static var standard: Console {
    var console = Console(
      write: { (bytes: [UInt8]) throws in
        try Platform.write(bytes, to: Platform.standardOutput)
      },
      note: { (line: String) in noteOnError("\(line)\n") },
      environment: { (name: String) in Platform.environment(name) })
    if Platform.isTerminal(Platform.standardError) {
      console.redraw = { (line: String) in noteOnError("\r\u{1B}[K\(line)") }
    }
    return console
  }

  // An error of the error output cannot be reported.
  private static func noteOnError(_ text: String) {
    try? Platform.write(Array(text.utf8), to: Platform.standardError)
  }

  /// Takes a line for the user, unless this run of the tool has said it before.
  func noteOnce(_ line: String) {
    if shownLines.lines.withLock({ $0.insert(line).inserted }) { note(line) }
  }

  /// The same without lines for the user.
  var quiet: Console {
    var console = self
    console.note = { (_: String) in }
    return console
  }

  /// Writes a line of output.
  func print(_ line: String) throws { try write(Array("\(line)\n".utf8)) }
}

/// The output of a run of the tool.
private final class ShownLines: Sendable {
  let lines = Mutex<Set<String>>([])
}

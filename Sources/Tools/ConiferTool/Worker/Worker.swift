import ConiferTree

/// Runs a command of the tool in a process of its own, so that an engine that dies on damaged files
/// ends only that process.
///
/// The command prints one JSON object a line: `{"progress":…}`, `{"failure":…}` or `{"result":…}`.
struct Worker {
  /// How a command ended.
  enum End {
    case result(Node)
    case failure(Failure)
    /// The process died of what it did, or without a word.
    case died(String)
    /// Somebody has killed the process, or the system did for want of memory: what it was doing tells nothing.
    case stopped(String)
  }

  /// Runs a command to its end.
  ///
  /// - Parameters:
  ///   - program: its path; our own by default.
  ///   - progress: gets the progress that the command prints.
  static func run(
    _ arguments: [String], of program: String? = nil, _ progress: (Node) -> Void
  ) throws -> End {
    let child = try Interruption.killing { () throws(Failure) in
      try ChildProcess(arguments, of: program)
    }
    defer { Interruption.needNotKill(child) }
    var end: End?
    while let line = try child.line() {
      guard let message = try? Node(json: line) else { continue }
      let (told, failure, result) = (
        message.member("progress"), message.member("failure"), message.member("result")
      )
      if !told.isEmpty { progress(told) }
      if !failure.isEmpty { end = .failure(Failure(told: failure)) }
      if !result.isEmpty { end = .result(result) }
    }
    switch try child.wait() {
    case .killed(let signal) where ChildProcess.isFromOutside(signal):
      return .stopped("signal \(signal)")
    case .killed(let signal): return .died("signal \(signal)")
    case .exited(let status): return end ?? .died("status \(status)")
    }
  }

  /// Prints how far a command is.
  ///
  /// - Parameters:
  ///   - bytes: those that the phase has dealt with.
  ///   - expected: about how many it will deal with.
  static func tell(_ console: Console, phase: String, bytes: Int, expected: Int) {
    let told = Report.object([
      ("phase", .string(phase)), ("bytes", .integer(bytes)), ("expected", .integer(expected)),
    ])
    try? console.print(Report.object([("progress", told)]).compact)
  }

  /// Does a command's work and prints how it ended.
  static func answer(_ console: Console, _ body: () async throws -> Report) async throws {
    // If the parent is killed, this process must end too, so that the store does not stay open.
    let asker = Platform.parent
    Task.detached {
      while Platform.parent == asker { try? await Task.sleep(for: .milliseconds(50)) }
      Platform.exit(ToolStatus.internal.rawValue)
    }
    do {
      try console.print(Report.object([("result", try await body())]).compact)
    } catch {
      guard let failure = Failure(error) else { throw error }
      try console.print(Report.object([("failure", failure.told)]).compact)
    }
  }
}

extension Failure {
  fileprivate var told: Report {
    .object([
      ("code", .string(code)), ("exit", .integer(Int(status.rawValue))),
      ("message", .string(message)),
    ])
  }

  fileprivate init(told: Node) {
    let status = told.member("exit").leaf?.number.map {
      ToolStatus(rawValue: Int32($0)) ?? .internal
    }
    self.init(
      told.member("code").text ?? "internal", status ?? .internal,
      told.member("message").text ?? "unknown")
  }
}

extension Node {
  /// The child of a name.
  func member(_ name: String) -> Node { self[Key(name)] }

  /// The text of a leaf that is a string.
  var text: String? {
    if case .string(let text)? = leaf { text } else { nil }
  }

  /// The number of a leaf that is one, as an integer.
  var count: Int? {
    leaf?.number.flatMap { Int(exactly: $0) }
  }
}

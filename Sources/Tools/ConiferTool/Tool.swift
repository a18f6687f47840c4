import ArgumentParser

/// A command that runs against a console, so that tests can run it in their own process.
protocol ToolCommand: ParsableCommand {
  /// Does the work; what it throws becomes one line on standard error and an exit status.
  func run(_ console: Console) async throws
}

/// The tool as a function from arguments to an exit status.
enum Tool {
  /// Parses the arguments, runs the command and reports its failure.
  ///
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - console: the output and the environment.
  static func run(_ arguments: [String], _ console: Console) async -> ToolStatus {
    await run(arguments.map(Optional.some), console)
  }

  /// The same; nil stands for an argument that is no UTF-8.
  static func run(_ given: [String?], _ console: Console) async -> ToolStatus {
    let arguments = given.compactMap(\.self)
    do {
      if let place = given.firstIndex(of: nil) {
        throw Failure.usage(
          "Argument \(place + 1) is not UTF-8, so it cannot be stored as it is: write it in UTF-8.")
      }
      var command = try ConiferCommand.parseAsRoot(arguments)
      if let command = command as? any ToolCommand {
        try await command.run(console)
      } else {
        try command.run()
      }
      return .success
    } catch {
      return report(error, asJSON: arguments.contains("--json"), console)
    }
  }

  private static func report(_ error: any Error, asJSON: Bool, _ console: Console) -> ToolStatus {
    if let failure = Failure(error) {
      console.note(asJSON ? failure.json : "conifer: \(failure)")
      return failure.status
    }
    // The rest is the argument parser's: help and version, or wrong arguments.
    let text = ConiferCommand.fullMessage(for: error)
    guard ConiferCommand.exitCode(for: error) != .success else {
      do {
        try console.write(Array("\(text)\n".utf8))
        return .success
      } catch {
        return .io
      }
    }
    console.note(asJSON ? Failure("usage", .usage, ConiferCommand.message(for: error)).json : text)
    return .usage
  }
}

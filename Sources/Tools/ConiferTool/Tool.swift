import ArgumentParser
import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferRocksDB
import ConiferSQLite
public import ConiferStorage

/// A command that runs against a console, so that tests can run it in their own process.
protocol ToolCommand: ParsableCommand {
  /// Does the work; what it throws becomes one line on standard error and an exit status.
  func run(_ console: Console) async throws
}

/// The command line tool, for stores of the kinds that a program links.
public enum Tool {
  /// The kinds of `conifer`; the first is the default one. RocksDB's is among them with the trait `RocksDB`.
  public static let kinds: [StorageKind] = {
    #if RocksDB
      [.sqlite, .lmdb, .log, .memory, .rocksdb]
    #else
      [.sqlite, .lmdb, .log, .memory]
    #endif
  }()

  /// The kinds that the commands know.
  @TaskLocal static var registry = StorageRegistry(Tool.kinds)

  /// Does what the process's arguments say, as `conifer` does, and ends the process with a status of the tool.
  ///
  /// Commands that read damaged files start the program that calls this once more, with arguments of their own: it is to
  /// do nothing else.
  ///
  /// - Parameter registry: the kinds of stores that URLs may name, for example
  ///   `StorageRegistry(Tool.kinds + [.journal])`; the demos use the first where no store is named.
  public static func main(registry: StorageRegistry) async -> Never {
    // The standard library's arguments have what is no UTF-8 replaced.
    let raw = CommandLine.unsafeArgv
    let arguments = (1..<max(1, Int(CommandLine.argc))).map { place in
      raw[place].flatMap { String(validatingCString: $0) }
    }
    let status = await Tool.$registry.withValue(registry) {
      await run(arguments, Console.standard)
    }
    Platform.exit(status.rawValue)
  }

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

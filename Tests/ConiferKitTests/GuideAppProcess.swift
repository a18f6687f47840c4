import Foundation
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The app in a process of its own.
final class GuideAppProcess {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  /// What it has shown.
  private let told = Gathered<String>()

  init(_ arguments: [String], _ home: URL) throws {
    process.executableURL = URL(fileURLWithPath: try #require(Self.app))
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_DATA_HOME"] = home.path
    environment["HOME"] = home.path
    process.environment = environment
    process.standardInput = input
    process.standardOutput = output
    output.fileHandleForReading.readabilityHandler = { [told] file in
      told.add(String(decoding: file.availableData, as: UTF8.self))
    }
    try process.run()
  }

  /// The built app, beside the test program.
  private static let app = BuiltProgram.path(of: "GuideApp")

  /// Gives it a line.
  func type(_ line: String) { input.fileHandleForWriting.write(Data("\(line)\n".utf8)) }

  /// Waits until it has shown a line; fails when it ends before.
  func wait(for line: String) async {
    while !text.split(separator: "\n").contains(Substring(line)) {
      guard process.isRunning, !Task.isCancelled else {
        Issue.record("The app ended, and showed only: \(text)")
        return
      }
      try? await Task.sleep(for: .milliseconds(5))
    }
  }

  private var text: String { told.all.joined() }

  /// Ends it wherever it is.
  func kill() {
    output.fileHandleForReading.readabilityHandler = nil
    sendKill(process.processIdentifier)
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal)
  }
}

/// Outside of the type, where the name is the C library's.
private func sendKill(_ process: Int32) { kill(process, SIGKILL) }

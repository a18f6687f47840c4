import Foundation
import TestSupport
import Testing

/// The app in a process of its own.
final class GuideAppProcess {
  private let program: RunningProgram
  /// What it has shown.
  private let told = Gathered<String>()

  init(_ arguments: [String], _ home: URL) throws {
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_DATA_HOME"] = home.path
    environment["HOME"] = home.path
    let program = try RunningProgram(
      try #require(Self.app), arguments, environment: environment, takesInput: true, output: .read)
    self.program = program
    Thread.detachNewThread { [told] in
      while let more = try? program.read(within: 600), !more.isEmpty {
        told.add(String(decoding: more, as: UTF8.self))
      }
    }
  }

  /// The built app, beside the test program.
  private static let app = BuiltProgram.path(of: "GuideApp")

  /// Gives it a line.
  func type(_ line: String) throws { try program.write("\(line)\n".utf8) }

  /// Waits until it has shown a line; fails when it ends before.
  func wait(for line: String) async {
    while !text.split(separator: "\n").contains(Substring(line)) {
      guard program.end == nil, !Task.isCancelled else {
        Issue.record("The app ended, and showed only: \(text)")
        return
      }
      try? await Task.sleep(for: .milliseconds(5))
    }
  }

  private var text: String { told.all.joined() }

  /// Ends it wherever it is.
  func kill() { #expect(program.kill()) }
}

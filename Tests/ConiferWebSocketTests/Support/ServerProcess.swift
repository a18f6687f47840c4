#if Network
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

  /// `conifer serve` in a process of its own, which may be killed.
  struct ServerProcess {
    /// The built tool, beside the test program.
    static let tool = BuiltProgram.path(of: "conifer")

    /// It ended by itself.
    struct Ended: Error {}

    private let process: Process
    let port: Int

    /// Starts a server and blocks until it listens.
    init(_ arguments: [String]) throws {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: try #require(Self.tool))
      process.arguments = ["serve", "--host", "127.0.0.1", "--port", "0"] + arguments
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = output
      try process.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      let number = line.split(separator: ":").last?.prefix { $0.isNumber }
      self.process = process
      port = try #require(number.flatMap { Int($0) }, "The server said \"\(line)\".")
    }

    /// Ends it wherever it is.
    ///
    /// - Returns: whether it lived until then.
    @discardableResult
    func kill() -> Bool {
      sendKill(process.processIdentifier)
      // Foundation learns of the end by a descriptor that another child may have taken along, and then waits for
      // that one's end too, which may wait for this.
      if let wasKilled = waitForEnd(process.processIdentifier) { return wasKilled }
      process.waitUntilExit()
      return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    }
  }

  /// Waits until a child has ended, and leaves its status to whoever takes it.
  ///
  /// - Returns: whether a signal ended it; nil when its status was taken already.
  private func waitForEnd(_ child: Int32) -> Bool? {
    var info = siginfo_t()
    while waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) != 0 {
      guard errno == EINTR else { return nil }
    }
    return info.si_code == Int32(CLD_KILLED)
  }

  /// Outside of the type, where the name is the C library's.
  private func sendKill(_ process: Int32) { kill(process, SIGKILL) }
#endif

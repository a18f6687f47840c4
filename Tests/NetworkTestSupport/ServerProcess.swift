#if Network
  import Foundation
  import TestSupport

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// `conifer serve` in a process of its own, which may be killed.
  package struct ServerProcess: Sendable {
    /// The built tool, beside the test program.
    package static let tool = BuiltProgram.path(of: "conifer")

    /// It ended by itself, or cannot be started.
    package struct Ended: Error {
      /// What it said.
      package var words = ""

      package init(_ words: String = "") { self.words = words }
    }

    private let process: Process
    /// Where WebSockets and REST are.
    package let port: Int
    /// Where gRPC is; 0 when that was not asked for.
    package let grpcPort: Int

    /// Starts a server and blocks until it listens.
    package init(_ arguments: [String]) throws {
      guard let tool = Self.tool else { throw Ended("The tool was not built.") }
      let process = Process()
      let output = Pipe()
      // The server gets a copy, and no other child of this process.
      for file in [output.fileHandleForReading, output.fileHandleForWriting] {
        _ = fcntl(file.fileDescriptor, F_SETFD, FD_CLOEXEC)
      }
      process.executableURL = URL(fileURLWithPath: tool)
      process.arguments = ["serve", "--host", "127.0.0.1", "--port", "0"] + arguments
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = output
      try process.run()
      // A line with the port of WebSockets and REST, and one with that of gRPC where it is asked for.
      var text = ""
      let wanted = arguments.contains("--grpc-port") ? 2 : 1
      while text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) < wanted {
        let data = output.fileHandleForReading.availableData
        guard !data.isEmpty else { throw Ended(text) }
        text += String(decoding: data, as: UTF8.self)
      }
      func port(_ scheme: String) -> Int? {
        text.split(separator: "\n").first { $0.hasPrefix("\(scheme)://") }
          .flatMap { Int($0.split(separator: ":").last?.prefix { $0.isNumber } ?? "") }
      }
      guard let http = port("http") else { throw Ended(text) }
      grpcPort = port("grpc") ?? 0
      self.process = process
      self.port = http
    }

    /// The bytes of anonymous memory that it has at this moment; nil where the system does not tell.
    package var anonymousMemory: Int? {
      PeakMemory.anonymousMemory(of: "\(process.processIdentifier)")
    }

    /// Ends it wherever it is.
    ///
    /// - Returns: whether it lived until then.
    @discardableResult
    package func kill() -> Bool {
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

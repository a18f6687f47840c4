#if Network
  import TestSupport

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

    private let program: RunningProgram
    /// Where WebSockets and REST are.
    package let port: Int
    /// Where gRPC is; 0 when that was not asked for.
    package let grpcPort: Int

    /// Starts a server and blocks until it listens.
    package init(_ arguments: [String]) throws {
      guard let tool = Self.tool else { throw Ended("The tool was not built.") }
      let program = try RunningProgram(
        tool, ["serve", "--host", "127.0.0.1", "--port", "0"] + arguments, output: .read)
      // A line with the port of WebSockets and REST, and one with that of gRPC where it is asked for.
      var text = ""
      let wanted = arguments.contains("--grpc-port") ? 2 : 1
      while text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) < wanted {
        let more = try program.read()
        guard !more.isEmpty else { throw Ended(text) }
        text += String(decoding: more, as: UTF8.self)
      }
      func port(_ scheme: String) -> Int? {
        text.split(separator: "\n").first { $0.hasPrefix("\(scheme)://") }
          .flatMap { Int($0.split(separator: ":").last?.prefix { $0.isNumber } ?? "") }
      }
      guard let http = port("http") else { throw Ended(text) }
      grpcPort = port("grpc") ?? 0
      self.program = program
      self.port = http
    }

    /// The bytes of anonymous memory that it has at this moment; nil where the system does not tell.
    package var anonymousMemory: Int? { PeakMemory.anonymousMemory(of: "\(program.number)") }

    /// Ends it wherever it is.
    ///
    /// - Returns: whether it lived until then.
    @discardableResult
    package func kill() -> Bool { program.kill() }
  }
#endif

#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferFirestore
  import ConiferGRPC
  import ConiferServerGRPC
  public import ConiferStorage
  import Dispatch
  import Foundation
  import Logging

  /// A server of documents, and the clients that reach it.
  protocol ServedDocuments: Sendable {
    /// A client that keeps its data in a storage.
    func client(_ storage: StorageConfiguration) -> Firestore
    /// Seconds that the processors have worked for clients and server.
    func processor() throws -> Double
    /// Bytes of the server's process that belong to no file; zero where it is this one.
    func memory() throws -> Int
    func close() async throws
  }

  private let database = DatabaseID(project: "load")

  /// A server in this process.
  struct DocumentsHere: ServedDocuments {
    private let server: DocumentServer

    init(_ storage: StorageConfiguration) throws {
      server = try DocumentServer(DocumentServerConfiguration(storage: storage))
    }

    func client(_ storage: StorageConfiguration) -> Firestore {
      quiet(
        FirestoreConfiguration(
          projectID: database.project, storage: storage, transport: server.transport(to: database)))
    }

    func processor() -> Double { SystemFigures.ownProcessorTime }
    func memory() -> Int { 0 }
    func close() async throws { try await server.close() }
  }

  /// A server in a process of its own, which answers over gRPC, and tells its figures when it is asked.
  final class DocumentsElsewhere: ServedDocuments {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let port: Int

    /// - Parameter path: where it keeps documents; nil for memory.
    init(_ program: String, _ path: String?) throws {
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = ["serve-documents"] + (path.map { [$0] } ?? [])
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      port = Int(Self.line(output)) ?? 0
      guard port > 0 else { throw BenchmarkFailure.process("the server did not start") }
    }

    func client(_ storage: StorageConfiguration) -> Firestore {
      quiet(
        .grpc(
          projectID: database.project, host: "127.0.0.1:\(port)", isSecure: false, storage: storage)
      )
    }

    func processor() throws -> Double { SystemFigures.ownProcessorTime + (try figures().seconds) }
    func memory() throws -> Int { try figures().bytes }

    private func figures() throws -> (seconds: Double, bytes: Int) {
      try input.fileHandleForWriting.write(contentsOf: Data("?\n".utf8))
      let words = Self.line(output).split(separator: " ")
      guard words.count == 2, let seconds = Double(words[0]), let bytes = Int(words[1]) else {
        throw BenchmarkFailure.process("the server did not tell its figures")
      }
      return (seconds, bytes)
    }

    private static func line(_ pipe: Pipe) -> String {
      var bytes = Data()
      while bytes.last != UInt8(ascii: "\n") {
        let more = pipe.fileHandleForReading.availableData
        if more.isEmpty { break }
        bytes += more
      }
      return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    func close() async throws {
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw BenchmarkFailure.process("the server ended with \(process.terminationStatus)")
      }
    }
  }

  private func quiet(_ configuration: FirestoreConfiguration) -> Firestore {
    var configuration = configuration
    configuration.callbackQueue = .queue(DispatchQueue(label: "client"))
    configuration.logger.logLevel = .critical
    return Firestore(configuration)
  }

  /// The server of `DocumentsElsewhere`, in its process.
  public enum DocumentLoadServer {
    /// Serves over gRPC until standard input ends; prints the port, and figures for each line of it.
    public static func run(_ storage: StorageConfiguration) async throws {
      let documents = try DocumentServer(DocumentServerConfiguration(storage: storage))
      var settings = DocumentGRPCConfiguration(host: "127.0.0.1", port: 0)
      settings.logger.logLevel = .critical
      let server = DocumentGRPCServer(documents, settings)
      tell("\(try await server.start())")
      // A thread of its own: what waits for input keeps no other work from a thread.
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          while readLine() != nil {
            tell("\(SystemFigures.ownProcessorTime) \(SystemFigures.anonymousMemory)")
          }
          continuation.resume()
        }
      }
      await server.stop()
      try await documents.close()
    }

    private static func tell(_ line: String) {
      FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
  }
#endif

#if GRPC
  import ConiferFirestore
  public import ConiferStorage
  import Foundation

  /// What is measured of clients of documents and their server.
  public enum DocumentLoadWork: String, Codable, Sendable, CaseIterable {
    case write, load, fanOut, drain, memory, memoryOfClients, memoryOfServer

    /// What it is, in words, with its unit.
    public var title: String {
      switch self {
      case .write: "a write until the server has answered it, both on a store, ms"
      case .load:
        "batches of 3 writes of all clients until all listeners have heard all, µs a batch"
      case .fanOut: "a change until all listeners of other clients have heard it, ms"
      case .drain: "a queue that was filled offline until it is answered, µs a write"
      case .memory: "memory that the load took, of clients and server, MiB"
      case .memoryOfClients: "of it that of the clients, MiB"
      case .memoryOfServer: "of it that of the server, MiB"
      }
    }
  }

  /// Clients of documents and their server at work together: one exercise, once.
  public struct DocumentLoad: Codable, Sendable {
    /// How clients reach the server.
    public enum Way: String, Codable, Sendable, CaseIterable {
      /// It is in their process.
      case inProcess = "in process"
      /// It is in a process of its own, and answers over gRPC.
      case sockets = "gRPC"
    }

    /// What clients do.
    public enum Exercise: String, Codable, Sendable, CaseIterable {
      case write, load, fanOut, drain
    }

    /// How much is done.
    public struct Plan: Codable, Sendable {
      /// How often each is measured.
      public var rounds = 5
      /// How many clients write at once, and share the listeners.
      public var clients = 8
      /// How many batches each of them makes.
      public var batches = 1250
      /// How many listeners they have in all.
      public var listeners = 1000
      /// How many writes are awaited one by one.
      public var awaited = 200
      /// How many writes are made offline.
      public var offline = 10_000

      /// All of it.
      public init() {}

      /// The order of things.
      public static var quick: Plan {
        var plan = Plan()
        (plan.batches, plan.listeners, plan.offline) = (100, 160, 2000)
        return plan
      }

      /// Shows that it runs.
      public static var tiny: Plan {
        var plan = Plan()
        (plan.rounds, plan.clients, plan.batches, plan.listeners) = (1, 2, 5, 4)
        (plan.awaited, plan.offline) = (5, 20)
        return plan
      }
    }

    /// One figure.
    public struct Figure: Codable, Sendable {
      /// What was measured.
      public let work: DocumentLoadWork
      /// By the clock, where it is a time.
      public let value: Double
      /// By the processor, of all processes; nil of what is no time.
      public let processor: Double?
    }

    let way: Way
    let exercise: Exercise
    let plan: Plan
    let directory: String

    /// A way and an exercise.
    ///
    /// - Parameter directory: where stores are made and removed.
    public init(_ way: Way, _ exercise: Exercise, _ plan: Plan, in directory: String) {
      self.way = way
      self.exercise = exercise
      self.plan = plan
      self.directory = directory
    }

    /// Measures.
    ///
    /// - Parameters:
    ///   - storage: a durable storage at a path.
    ///   - program: what serves over sockets when it is given arguments: their first is `serve-documents`, the second a
    ///     path or nothing.
    /// - Throws: also when a write or the news of it was lost.
    public func run(
      _ storage: @escaping @Sendable (String) -> StorageConfiguration, program: String
    ) async throws -> [Figure] {
      let directory = "\(directory)/documents-\(UUID().uuidString)"
      for name in ["client", "server"] {
        try FileManager.default.createDirectory(
          atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
      }
      defer { try? FileManager.default.removeItem(atPath: directory) }
      // What is written one by one is kept on both sides; elsewhere memory is, so that the way counts.
      let path = exercise == .write ? "\(directory)/server" : nil
      let served: any ServedDocuments =
        switch way {
        case .inProcess: try DocumentsHere(path.map(storage) ?? .memory())
        case .sockets: try DocumentsElsewhere(program, path)
        }
      let figures =
        switch exercise {
        case .write: try await write(served, storage("\(directory)/client"))
        case .load: try await load(served)
        case .fanOut: try await fanOut(served)
        case .drain: try await drain(served)
        }
      try await served.close()
      return figures
    }
  }
#endif

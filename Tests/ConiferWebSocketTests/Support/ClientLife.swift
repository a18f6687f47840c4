#if Network
  import Conifer
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import ConiferStorage
  import ConiferTree
  import Foundation
  import NetworkTestSupport
  import Synchronization
  import TestSupport

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What outlives its process.
  enum DurableStore: String, CaseIterable, Codable, Sendable {
    case lmdb, sqlite, log

    func configuration(
      at directory: String, _ options: StorageOptions = StorageOptions()
    ) -> StorageConfiguration {
      switch self {
      case .lmdb: .lmdb(at: directory, options: options)
      case .sqlite: .sqlite(at: directory, options: options)
      case .log: .log(at: directory, options: options)
      }
    }
  }

  /// A client that keeps its data in a directory, in one process after the other.
  struct ClientLife: Codable, Sendable {
    let store: DurableStore
    let directory: String
    let url: String
    let name: String

    private var notes: String { "\(directory)/\(name)-notes" }

    /// Opens the database that the last process left, or a new one.
    ///
    /// Increments of which nobody knows whether they were done are left to the app, so that none counts
    /// twice.
    func open() -> Database {
      let storage = store.configuration(at: "\(directory)/\(name)")
      return client(url, speed: 40, storage: storage) { $0.unknownOutcome = .leaveToApp }
    }

    /// Writes until the process is killed, after some writes were durable or acknowledged, and notes which
    /// these were.
    ///
    /// - Parameters:
    ///   - number: that of the life: later ones write with higher numbers.
    ///   - seed: decides after how many writes, and what is written.
    func live(_ number: Int, seed: UInt64) async throws {
      let database = open()
      let root = database.reference()
      root.observe(.value) { _ in }
      let file = try FileNotes(notes)
      var random = Seeded(seed)
      let last = Int.random(in: 1...60, using: &random)
      // Some first lives may be killed before anything is acknowledged.
      let isDurable = number == 1 && random.chance(30)
      for write in 1...2_000 {
        let number = number * 10_000 + write
        let receipt =
          if random.chance(50) {
            root.child("plain/\(name)/n\(number)").enqueue(.set(number))
          } else {
            root.enqueue(
              .update([
                "list/\(name)/n\(number)": number,
                "count/\(name)": Conifer.ServerValue.increment(1),
              ]))
          }
        Task {
          _ = try await receipt.durable
          file.add("durable \(number)")
          if !isDurable {
            guard case .acknowledged = try await receipt.outcome else { return }
            file.add("acknowledged \(number)")
          }
          if file.countEnd() >= last { raise(SIGKILL) }
        }
        if random.chance(20) { _ = try await receipt.durable }
      }
      // Only a hang reaches this end.
      try await Task.sleep(for: .seconds(600))
    }

    /// The numbers of the writes of which all lives noted something.
    func noted(_ word: String) -> Set<Int> {
      let text = (try? String(contentsOfFile: notes, encoding: .utf8)) ?? ""
      let numbers = text.split(separator: "\n").compactMap { line -> Int? in
        let words = line.split(separator: " ")
        return words.count == 2 && words[0] == word ? Int(words[1]) : nil
      }
      return Set(numbers)
    }
  }
#endif

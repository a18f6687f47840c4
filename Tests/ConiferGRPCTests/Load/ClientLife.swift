#if GRPC && Network
  import ConiferFirestore
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

  /// A client that keeps its data in a directory, in one process after the other.
  struct ClientLife: Codable, Sendable {
    let store: DurableStore
    let directory: String
    let port: Int
    let name: String

    /// Where it writes.
    static let collections = ["plain", "lists", "counts"]

    func open() -> Firestore {
      loadClient(port, speed: 40, storage: store.configuration(at: "\(directory)/\(name)"))
    }

    /// Writes until the process is killed, after some writes were durable or acknowledged, and notes which these were.
    ///
    /// - Parameters:
    ///   - number: that of the life: later ones write with higher numbers.
    ///   - seed: decides after how many writes, and what is written.
    func live(_ number: Int, seed: UInt64) async throws {
      let db = open()
      let watches = Self.collections.map { Watch(db.collection($0)) }
      defer { for watch in watches { watch.end() } }
      let file = try FileNotes("\(directory)/\(name)-notes")
      var random = Seeded(seed)
      let last = Int.random(in: 1...60, using: &random)
      // Some first lives may be killed before anything is acknowledged.
      let isDurable = number == 1 && random.chance(30)
      for write in 1...150 {
        let number = number * 10_000 + write
        let receipt: WriteReceipt
        if random.chance(50) {
          receipt = db.document("plain/\(name)-\(number)").enqueue(.set(["n": number]))
        } else {
          let batch = db.batch()
          batch.setData(["n": number], forDocument: db.document("lists/\(name)-\(number)"))
          batch.setData(
            ["n": FieldValue.increment(1)], forDocument: db.document("counts/\(name)"), merge: true)
          receipt = batch.enqueue()
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
    func noted(_ word: String) -> Set<Int64> {
      let text =
        (try? String(contentsOfFile: "\(directory)/\(name)-notes", encoding: .utf8)) ?? ""
      let numbers = text.split(separator: "\n").compactMap { line -> Int64? in
        let words = line.split(separator: " ")
        return words.count == 2 && words[0] == word ? Int64(words[1]) : nil
      }
      return Set(numbers)
    }
  }
#endif

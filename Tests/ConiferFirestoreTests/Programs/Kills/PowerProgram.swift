import ConiferDocumentServer
import ConiferEngine
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport

@testable import StorageConformance

/// A client whose file calls are recorded, and the server that it writes to: the power of the client's device can be cut
/// at any of the calls.
struct PowerProgram {
  /// What the client's disk went through; the marks are numbers of `lines`.
  let entries: [IOEntry]
  /// What the app was told to survive a loss of power, as a killed program reports it.
  let lines: [String]
  /// Where the server's store is, as of the last call.
  let server: String
  private let directory: String

  /// Runs a program.
  static func record(_ store: EngineStore, seed: UInt64) async throws -> PowerProgram {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    let (disk, place) = (directory + "/disk", directory + "/server")
    try System.makeDirectory(disk)
    let session = try IOSession.record(disk)
    defer { session.end() }
    let pump = DocumentPump(seed: seed)
    let server = try ClientProgram.makeServer(
      EngineStore.log.configuration(at: place), history: 10_000, DiskFaults(),
      DocumentServerConfiguration.systemTime)
    let way = ProgramLink(to: ClientProgram.database, of: server, .pump(pump), seed: seed)
    let client = ProgramClient(
      "a", store.configuration(at: disk + "/a"), way, PumpClock(pump), .power, seed: seed)
    func deliver(_ count: Int) async {
      for place in 0...count {
        await client.engine.waitUntilIdle()
        await server.waitUntilIdle()
        await client.engine.waitUntilIdle()
        if place < count, !pump.step() { break }
      }
    }
    let told = Mutex<[String]>([])
    var random = Seeded(seed)
    // Some first write offline, and meet the server when all of that is durable.
    if random.chance(50) { client.setNetwork(false) }
    func write(_ number: Int) async throws {
      let write = KilledWrite("a-1-\(number)", random.pick(KilledWrite.Kind.all))
      let receipt = client.engine.write(try write.mutations(by: client.user), nil)
      guard let id = try await receipt.id, try await receipt.durable == .power else { return }
      told.withLock { told in
        session.mark(told.count)
        told.append("durable \(write.name) \(id.identity) \(id.number)")
      }
    }
    let steps = 5 + random.below(20)
    for number in 1...steps {
      switch random.below(12) {
      case 0: client.become(client.user == "ann" ? "bob" : "ann")
      case 1: client.link.cut(arrives: random.chance(50))
      case 2: client.link.loseAnswers(next: 1)
      case 3: client.setNetwork(!client.isNetworkWanted)
      default: try await write(number)
      }
      await deliver(random.below(10))
    }
    // A program without a durable write would prove nothing.
    if told.withLock({ $0.isEmpty }) { try await write(steps + 1) }
    client.setNetwork(true)
    await deliver(random.below(40))
    let entries = session.entries()
    await client.end()
    try await server.close()
    return PowerProgram(
      entries: entries, lines: told.withLock { $0 }, server: place, directory: directory)
  }

  /// Some calls behind which the power is cut, the last one not among them.
  func points(seed: UInt64) -> [Int] {
    let marks = entries.indices.filter { if case .mark = entries[$0] { true } else { false } }
    var random = Seeded(seed)
    return (0..<4).map { _ in random.pick(marks) + 1 }
      + (0..<2).map { _ in random.below(entries.count) }
  }

  /// Leaves in a directory what the client's disk may have after a cut.
  ///
  /// - Returns: what the app had been told.
  func cut(at point: Int, _ image: DiskImage, to directory: String) throws -> [Substring] {
    var disk = SimulatedDisk()
    var told: [Substring] = []
    for entry in entries[..<point] {
      _ = disk.play(entry)
      if case .mark(let number) = entry { told.append(lines[number][...]) }
    }
    try disk.write(image, to: directory)
    return told
  }

  /// Copies the server's store.
  func copyServer(to directory: String) throws {
    try System.makeDirectory(directory)
    for name in System.names(in: server) {
      try System.write(try System.content(of: server + "/" + name), to: directory + "/" + name)
    }
  }

  func remove() { System.removeTree(directory) }
}

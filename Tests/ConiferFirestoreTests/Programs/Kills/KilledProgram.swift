import ConiferDocument
import ConiferDocumentServer
import ConiferEngine
import ConiferFirestore
import ConiferStorage
import ConiferWire
import TestSupport

@testable import StorageConformance

/// Two clients and a server in a process that is killed: while all of them run, or a moment after one of them stopped at
/// one of its commits. Their stores are left, and a report of what the apps were told.
struct KilledProgram {
  let store: EngineStore
  let directory: String
  let seed: UInt64
  /// Which process it is on these stores, from 1.
  let life: Int

  static let names = ["a", "b"]

  static func report(_ directory: String) -> String { directory + "/report" }

  private func report(_ line: String) {
    // All that an app was told must be known.
    do { try System.append(line, to: Self.report(directory)) } catch { Death.fail(error) }
  }

  /// Writes until the process is killed.
  func run() async throws {
    var random = Seeded(seed &* 100 &+ UInt64(life))
    let victim = random.below(4)
    let death = Death(
      at: 1 + random.below(150), rest: .microseconds(random.pick([0, 0, 500, 5_000, 30_000])))
    func its(_ part: Int) -> Death? { part == victim ? death : nil }
    let server = try ClientProgram.makeServer(
      store.configuration(at: directory + "/server"), history: random.pick([5, 10_000]),
      DiskFaults(its(2)), DocumentServerConfiguration.systemTime)
    let durability = random.pick([DurabilityChoice.process, .power])
    var clients: [ProgramClient] = []
    for (number, name) in Self.names.enumerated() {
      let seed = random.next()
      clients.append(
        ProgramClient(
          name, store.configuration(at: directory + "/" + name),
          ProgramLink(to: ClientProgram.database, of: server, .queues, seed: seed), SystemClock(),
          durability, seed: seed, death: its(number)))
    }
    // Where no part stops, the process is killed wherever all of them are.
    if victim == 3 { Death.comes(after: .microseconds(random.below(200_000))) }
    for number in 1...80 {
      let client = random.pick(clients)
      switch random.below(30) {
      case 0: client.become(client.user == "ann" ? "bob" : "ann")
      case 1: client.link.cut(arrives: random.chance(50))
      case 2: client.link.loseAnswers(next: 1)
      case 3: client.setNetwork(!client.isNetworkWanted)
      case 4: client.listen(try KilledWrite.query(random.pick(KilledWrite.collections)))
      case 5:
        client.faults.fail(
          DiskFaults.Chances(
            commits: random.pick([0, 20, 100]), reads: random.pick([0, 20]),
            made: random.pick([0, 50, 100])))
      case 6, 7: client.faults.heal()
      case 8: client.provide(random.pick([.failure, .never]))
      case 9, 10: client.healProvider(answersLate: random.chance(50))
      default:
        write(
          KilledWrite("\(client.name)-\(life)-\(number)", random.pick(KilledWrite.Kind.all)), client
        )
      }
      if random.chance(30) { try await Task.sleep(for: .milliseconds(random.below(5))) }
    }
    try await Task.sleep(for: .milliseconds(random.below(200)))
    System.die()
  }

  private func write(_ write: KilledWrite, _ client: ProgramClient) {
    let mutations: [ConiferDocument.Mutation]
    do { mutations = try write.mutations(by: client.user) } catch { Death.fail(error) }
    let receipt = client.engine.write(mutations) { error in
      let isQueued = error.map { $0.code == .permissionDenied } ?? true
      report("\(isQueued ? "ended" : "failed") \(write.name) \(error?.code.name ?? "made")")
    }
    Task {
      guard let id = try await receipt.id else { return }
      _ = try await receipt.durable
      report("durable \(write.name) \(id.identity) \(id.number)")
    }
  }
}

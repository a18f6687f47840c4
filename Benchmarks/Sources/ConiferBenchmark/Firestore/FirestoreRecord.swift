import CCounter
public import Foundation

/// What is measured of the client of documents.
public enum FirestoreWork: String, Codable, Sendable, CaseIterable {
  case write, writeBeside, writeFound, writeAmong, durable, flush, flushes
  case first, firstBeside, firstFound, firstAmong, firstTold, fanOut, fanOutOwn, open
  case loadBackend, loadClient, listenBackend, listenClient

  /// What this process can measure: flushes only where they are counted.
  static var measurable: [FirestoreWork] {
    allCases.filter { $0 != .flushes || counter_is_available() }
  }

  /// What it is, in words, with its unit.
  public var title: String {
    switch self {
    case .write: "a local write until its listener hears it, ms"
    case .writeBeside: "the same beside writes that wait elsewhere, ms"
    case .writeFound: "a local write until a query by a number hears it, ms"
    case .writeAmong: "the same beside writes that wait in the same collection, ms"
    case .durable: "a local write until it is durable, ms"
    case .flush: "256 bytes appended to a file and synced, ms"
    case .flushes: "flushes until a write is durable"
    case .first: "a listener's first event of 100 cached documents, ms"
    case .firstBeside: "the same beside writes that wait elsewhere, ms"
    case .firstFound: "a first event of 100 cached documents of a query by a number, ms"
    case .firstAmong: "the same beside writes that wait in the same collection, ms"
    case .firstTold: "the same beside those documents as the server told of them, ms"
    case .fanOut: "a write until all listeners on its collection hear it, ms"
    case .fanOutOwn: "the same when each listens to a query of its own, ms"
    case .open: "opening with targets and waiting writes until the first event, ms"
    case .loadBackend: "load on the backend alone, µs a document"
    case .loadClient: "load that a server tells the client, µs a document"
    case .listenBackend: "a query of many documents on the backend alone, ms"
    case .listenClient: "a listener's first event of the same, ms"
    }
  }
}

/// What is asked of the client of documents.
public struct FirestoreBar: Sendable {
  /// What is asked, in words.
  public let title: String
  /// The backend below the client.
  public let backend: String
  /// What was measured by the clock: milliseconds, or a ratio.
  public let value: Double
  /// The same by the processor; nil of what is no time.
  public let processor: Double?
  /// What it may be at most.
  public let limit: Double
}

/// The figures of one run of the client of documents.
public struct FirestoreRecord: Codable, Sendable {
  /// One figure of a backend.
  public struct Figure: Codable, Sendable {
    /// What is measured.
    public let work: FirestoreWork
    /// The backend below the client.
    public let backend: String
    /// The median of each round, in the unit of its work; a time is by the clock.
    public internal(set) var rounds: [Double] = []
    /// The same by the processor, where it is a time.
    public internal(set) var processor: [Double] = []
  }

  /// Where it ran.
  public let machine: Machine
  /// How much was done.
  public let plan: FirestoreComparison.Plan
  /// The backends, in the order of tables.
  public let backends: [String]
  /// The figures.
  public private(set) var figures: [Figure] = []

  init(machine: Machine, plan: FirestoreComparison.Plan, backends: [String]) {
    self.machine = machine
    self.plan = plan
    self.backends = backends
  }

  mutating func add(_ work: FirestoreWork, _ backend: String, _ value: Double) {
    figures[place(work, backend)].rounds.append(value)
  }

  mutating func add(_ work: FirestoreWork, _ backend: String, _ times: [Sample]) {
    let place = place(work, backend)
    figures[place].rounds.append(median(times.map(\.wall)))
    figures[place].processor.append(median(times.map(\.processor)))
  }

  private mutating func place(_ work: FirestoreWork, _ backend: String) -> Int {
    if let place = figures.firstIndex(where: { $0.work == work && $0.backend == backend }) {
      return place
    }
    figures.append(Figure(work: work, backend: backend))
    return figures.count - 1
  }

  func figure(_ work: FirestoreWork, _ backend: String) -> Figure? {
    figures.first { $0.work == work && $0.backend == backend }
  }

  /// The figures that backends lack, in words; one in memory opens nothing.
  public var missing: [String] {
    backends.flatMap { backend in
      FirestoreWork.measurable
        .filter { figure($0, backend) == nil && ($0 != .open || backend != "memory") }
        .map { "\($0.rawValue) of \(backend)" }
    }
  }

  /// The record as a file holds it.
  public var json: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return try encoder.encode(self)
    }
  }
}

extension FirestoreRecord {
  /// All that is asked of the client on each backend.
  public var bars: [FirestoreBar] { backends.flatMap { bars($0) } }

  private func bars(_ backend: String) -> [FirestoreBar] {
    var bars: [FirestoreBar] = []
    func add(_ title: String, _ work: FirestoreWork, to base: FirestoreWork? = nil, _ limit: Double)
    {
      guard let own = figure(work, backend) else { return }
      // Each round is compared with itself.
      func value(_ rounds: [Double], _ others: [Double]?) -> Double {
        guard let others else { return median(rounds) }
        return median(zip(rounds, others).map { $0 / max($1, 1e-9) })
      }
      let its = base.flatMap { figure($0, backend) }
      bars.append(
        FirestoreBar(
          title: title, backend: backend, value: value(own.rounds, its?.rounds),
          processor: own.processor.isEmpty ? nil : value(own.processor, its?.processor),
          limit: limit))
    }
    add("a write until its listener hears it, ms", .write, 1)
    add("flushes until a write is durable", .flushes, 1)
    add("first event of 100 cached documents, ms", .first, 2)
    add("a write until \(plan.listeners) listeners hear it, ms", .fanOut, 50)
    add("the same, each with a query of its own, ms", .fanOutOwn, 50)
    add("a write beside \(plan.pending) elsewhere, to none", .writeBeside, to: .write, 1.2)
    add(
      "a write beside \(plan.pending) in its collection, to none", .writeAmong, to: .writeFound, 1.2
    )
    add("first event beside \(plan.pending) elsewhere, to none", .firstBeside, to: .first, 1.2)
    add(
      "first event beside \(plan.pending) in its collection, to the same told by the server",
      .firstAmong, to: .firstTold, 1.2)
    add("open with \(plan.queued) writes until the first event, ms", .open, 8)
    add("load, to the backend", .loadClient, to: .loadBackend, 1.5)
    add("listen to \(plan.many), to the backend", .listenClient, to: .listenBackend, 1.5)
    return bars
  }

  /// All figures, then all that is asked, as Markdown: medians by the clock with their extremes, and by the
  /// processor.
  public var markdown: String {
    var lines = [
      "\(plan.documents) documents in rooms of 100, \(plan.many) in one collection, "
        + "\(plan.rounds) rounds; \(machine.processor); \(machine.fileSystem); load "
        + "\(Number.short(machine.load)).",
      "", "| | " + backends.joined(separator: " | ") + " |",
      "|---|" + String(repeating: "---|", count: backends.count),
    ]
    for work in FirestoreWork.allCases where figures.contains(where: { $0.work == work }) {
      let cells = backends.map { backend in figure(work, backend).map { cell($0) } ?? "" }
      lines.append("| \(work.title) | " + cells.joined(separator: " | ") + " |")
    }
    lines += [
      "", "| asked | on | at most | by the clock | by the processor | |",
      "|---|---|---|---|---|---|",
    ]
    for bar in bars {
      lines.append(
        "| \(bar.title) | \(bar.backend) | \(Number.short(bar.limit)) | "
          + "\(Number.short(bar.value)) | \(bar.processor.map { Number.short($0) } ?? "") | "
          + "\(bar.value <= bar.limit ? "met" : "short") |")
    }
    return lines.joined(separator: "\n")
  }

  /// The median by the clock with the extremes, and the one by the processor.
  private func cell(_ figure: Figure) -> String {
    var cell = Number.short(median(figure.rounds))
    if let least = figure.rounds.min(), let most = figure.rounds.max(), least < most {
      cell += " [\(Number.short(least))–\(Number.short(most))]"
    }
    if !figure.processor.isEmpty { cell += "; \(Number.short(median(figure.processor)))" }
    return cell
  }
}

public import Foundation

/// The figures of one run of documents: of each round, of each candidate.
public struct DocumentRecord: Codable, Sendable {
  /// One figure of a candidate.
  public struct Figure: Codable, Sendable {
    /// What is measured.
    public let work: DocumentWork
    /// The candidate.
    public let candidate: String
    /// The figure of each round, in the unit of its work; a time is by the clock.
    public internal(set) var rounds: [Double] = []
    /// The same by the processor, where it is a time.
    public internal(set) var processor: [Double] = []

    /// The median of the rounds.
    public var value: Double { median(rounds) }
  }

  /// Where it ran.
  public let machine: Machine
  /// How much was done.
  public let plan: DocumentComparison.Plan
  /// The candidates, in the order of tables.
  public internal(set) var candidates: [String] = []
  /// The figures.
  public internal(set) var figures: [Figure] = []

  init(machine: Machine, plan: DocumentComparison.Plan) {
    self.machine = machine
    self.plan = plan
  }

  mutating func add(_ work: DocumentWork, _ candidate: String, _ value: Double) {
    figures[place(work, candidate)].rounds.append(value)
  }

  mutating func add(_ work: DocumentWork, _ candidate: String, _ times: [Sample]) {
    let place = place(work, candidate)
    figures[place].rounds.append(median(times.map(\.wall)))
    figures[place].processor.append(median(times.map(\.processor)))
  }

  private mutating func place(_ work: DocumentWork, _ candidate: String) -> Int {
    if let place = figures.firstIndex(where: { $0.work == work && $0.candidate == candidate }) {
      return place
    }
    figures.append(Figure(work: work, candidate: candidate))
    return figures.count - 1
  }

  func figure(_ work: DocumentWork, _ candidate: String) -> Figure? {
    figures.first { $0.work == work && $0.candidate == candidate }
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

/// What is measured of documents.
public enum DocumentWork: String, Codable, Sendable, CaseIterable {
  case load, loadUnsorted, bytes, indexBytes, fileBytes, author, authorAgain, time, timeAgain, score
  case authorAlone, authorBesidePending, groupAlone, groupBesidePending, open, openFull

  /// What it is, in words, with its unit.
  public var title: String {
    switch self {
    case .load: "load in the order of ids, µs a document"
    case .loadUnsorted: "load in no order, µs a document"
    case .bytes: "live bytes a document, tidied"
    case .indexBytes: "of them keys and values of the indexes' rows"
    case .fileBytes: "bytes of files a document, tidied and closed"
    case .author: "50 by an index, each asked once, ms"
    case .authorAgain: "the same again, ms"
    case .time: "the first 50 from a time on, by an index, each asked once, ms"
    case .timeAgain: "the same again, ms"
    case .score: "a filter without an index, ms"
    case .authorAlone: "50 by an index without pending writes, ms"
    case .authorBesidePending: "50 by an index with pending writes elsewhere, ms"
    case .groupAlone: "50 of a group without pending writes, ms"
    case .groupBesidePending: "50 of a group with pending writes in many collections elsewhere, ms"
    case .open: "open until the first answer, ms"
    case .openFull: "open with targets and pending writes until the first answer, ms"
    }
  }
}

/// What is asked of documents in a store.
public struct DocumentBar: Sendable {
  /// What is asked, in words.
  public let title: String
  /// The candidate that is judged.
  public let candidate: String
  /// What was measured: a ratio, or milliseconds.
  public let value: Double
  /// The same by the processor, where it is a time: what other programs take tells less there.
  public let processor: Double?
  /// What it may be at most.
  public let limit: Double
}

extension DocumentRecord {
  /// All that is asked of each backend's documents.
  public var bars: [DocumentBar] {
    candidates.filter { DocumentComparison.isJudged($0) }.flatMap { bars($0) }
  }

  private func bars(_ candidate: String) -> [DocumentBar] {
    var bars: [DocumentBar] = []
    func add(
      _ title: String, _ work: DocumentWork, to base: DocumentWork? = nil, of other: String? = nil,
      _ limit: Double
    ) {
      guard let own = figure(work, candidate) else { return }
      // Each round is compared with itself.
      func ratio(_ rounds: [Double], _ others: [Double]?) -> Double {
        guard let others else { return median(rounds) }
        return median(zip(rounds, others).map { $0 / max($1, 1e-9) })
      }
      let its = other.flatMap { figure(base ?? work, $0) }
      bars.append(
        DocumentBar(
          title: title, candidate: candidate, value: ratio(own.rounds, its?.rounds),
          processor: own.processor.isEmpty ? nil : ratio(own.processor, its?.processor),
          limit: limit))
    }
    let raw = DocumentComparison.reference
    add("load, to raw SQLite", .load, of: raw, 1)
    add("load in no order, to raw SQLite", .loadUnsorted, of: raw, 1)
    add("bytes, to raw SQLite", .bytes, of: raw, 1.0 / 3)
    add("50 by an index, to raw SQLite", .author, of: raw, 4)
    add("first 50 by another order, to raw SQLite", .time, of: raw, 4)
    add("a filter without an index, to raw SQLite", .score, of: raw, 1)
    add(
      "with pending writes elsewhere, to none", .authorBesidePending, to: .authorAlone,
      of: candidate, 1.2)
    add(
      "a group with pending writes elsewhere, to none", .groupBesidePending, to: .groupAlone,
      of: candidate, 1.2)
    add("open with all of it, ms", .openFull, 5)
    return bars
  }

  /// All figures, then all that is asked, as Markdown: medians by the clock with their extremes, and by the
  /// processor.
  public var markdown: String {
    var lines = [
      "\(plan.documents) documents, \(plan.rounds) rounds, \(plan.durability); "
        + "\(machine.processor); \(machine.fileSystem); load \(Number.short(machine.load)).",
      "", "| | " + candidates.joined(separator: " | ") + " |",
      "|---|" + String(repeating: "---|", count: candidates.count),
    ]
    for work in DocumentWork.allCases where figures.contains(where: { $0.work == work }) {
      let cells = candidates.map { candidate in
        figure(work, candidate).map { cell($0) } ?? ""
      }
      lines.append("| \(work.title) | " + cells.joined(separator: " | ") + " |")
    }
    lines += [
      "", "| asked | of | at most | by the clock | by the processor | |",
      "|---|---|---|---|---|---|",
    ]
    for bar in bars {
      lines.append(
        "| \(bar.title) | \(bar.candidate) | \(Number.short(bar.limit)) | "
          + "\(Number.short(bar.value)) | \(bar.processor.map { Number.short($0) } ?? "") | "
          + "\(bar.value <= bar.limit ? "met" : "short") |")
    }
    return lines.joined(separator: "\n")
  }

  /// The median by the clock with the extremes, and the one by the processor.
  private func cell(_ figure: Figure) -> String {
    var cell = Number.short(figure.value)
    if let least = figure.rounds.min(), let most = figure.rounds.max(), least < most {
      cell += " [\(Number.short(least))–\(Number.short(most))]"
    }
    if !figure.processor.isEmpty { cell += "; \(Number.short(median(figure.processor)))" }
    return cell
  }
}

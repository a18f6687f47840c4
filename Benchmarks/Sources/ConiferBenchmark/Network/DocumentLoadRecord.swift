#if GRPC
  public import Foundation

  /// The figures of clients of documents and their server, within a process and over gRPC.
  public struct DocumentLoadRecord: Codable, Sendable {
    /// The figures of one work on one way, a round each.
    private struct Rounds: Codable, Sendable {
      let work: DocumentLoadWork
      let way: DocumentLoad.Way
      var values: [Double] = []
      var processor: [Double] = []
    }

    /// Where it ran.
    public let machine: Machine
    /// How much was done.
    public let plan: DocumentLoad.Plan
    private var figures: [Rounds] = []

    /// A record without figures.
    ///
    /// - Parameter directory: where stores are made.
    public init(_ plan: DocumentLoad.Plan, in directory: String) {
      machine = .describe(directory)
      self.plan = plan
    }

    /// Adds what one measurement gave.
    public mutating func add(_ own: [DocumentLoad.Figure], _ way: DocumentLoad.Way) {
      for figure in own {
        let place = figures.firstIndex { $0.work == figure.work && $0.way == way }
        if place == nil { figures.append(Rounds(work: figure.work, way: way)) }
        let last = place ?? figures.count - 1
        figures[last].values.append(figure.value)
        if let processor = figure.processor { figures[last].processor.append(processor) }
      }
    }

    private func rounds(_ work: DocumentLoadWork, _ way: DocumentLoad.Way) -> Rounds? {
      figures.first { $0.work == work && $0.way == way }
    }

    /// What was not measured, in words.
    public var missing: [String] {
      DocumentLoad.Way.allCases.flatMap { way in
        DocumentLoadWork.allCases
          .filter { work in
            let isSplit = work == .memoryOfClients || work == .memoryOfServer
            return rounds(work, way) == nil && (way == .sockets || !isSplit)
          }
          .map { "\($0.rawValue) \(way.rawValue)" }
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

    /// All figures as Markdown: medians by the clock with their extremes, and by the processor, and the ratios of gRPC to
    /// the process, each round compared with itself.
    public var markdown: String {
      var lines = [
        "\(plan.clients) clients, \(plan.batches) batches each, \(plan.listeners) listeners, "
          + "\(plan.awaited) awaited writes, \(plan.offline) offline, \(plan.rounds) rounds; "
          + "\(machine.processor); \(machine.fileSystem); load \(Number.short(machine.load)).",
        "", "| | in process | gRPC | gRPC to in process |", "|---|---|---|---|",
      ]
      for work in DocumentLoadWork.allCases {
        let (here, there) = (rounds(work, .inProcess), rounds(work, .sockets))
        lines.append(
          "| \(work.title) | \(here.map(cell) ?? "") | \(there.map(cell) ?? "") | "
            + "\(ratio(there, here)) |")
      }
      return lines.joined(separator: "\n")
    }

    private func cell(_ rounds: Rounds) -> String {
      var cell = Number.short(median(rounds.values))
      if let least = rounds.values.min(), let most = rounds.values.max(), least < most {
        cell += " [\(Number.short(least))–\(Number.short(most))]"
      }
      if !rounds.processor.isEmpty { cell += "; \(Number.short(median(rounds.processor)))" }
      return cell
    }

    private func ratio(_ over: Rounds?, _ base: Rounds?) -> String {
      guard let over, let base else { return "" }
      func value(_ own: [Double], _ other: [Double]) -> String {
        Number.short(median(zip(own, other).map { $0 / max($1, 1e-9) }))
      }
      let clock = value(over.values, base.values)
      return over.processor.isEmpty ? clock : "\(clock); \(value(over.processor, base.processor))"
    }
  }
#endif

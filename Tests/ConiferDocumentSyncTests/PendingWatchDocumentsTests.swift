import ConiferDocument
import ConiferWire
import TestSupport
import Testing

@testable import ConiferDocumentSync

@Suite struct `What a stream said of documents` {
  private typealias F = Fixtures

  @Test(arguments: Seeded.seeds(40))
  func `is each once and in order, whatever the order in which it was said`(seed: UInt64) throws {
    var random = Seeded(seed)
    var pending = PendingWatchDocuments()
    var model: [DocumentPath: [TargetID: PendingWatchDocuments.Note]] = [:]
    var documents: [DocumentPath: Document] = [:]
    let isAscending = random.chance(30)
    for step in 0..<60 {
      let id = isAscending ? 1000 + step : random.below(40)
      let path = F.path("c/d\(id)")
      let document = random.chance(70) ? F.document("d\(id)", Int64(step)) : nil
      let changes: [TargetState.Change?] = [.added, .modified, .removed, nil]
      let note = PendingWatchDocuments.Note(
        target: TargetID(2 * random.below(3)), state: random.below(2),
        change: random.pick(changes), isReceiver: document != nil)
      let known = model[path]?[note.target]
      #expect(
        pending.note(path, document, note) == (known?.state == note.state ? known?.change : nil),
        "seed \(seed), step \(step)")
      var expected = note
      expected.isReceiver = note.isReceiver || known?.isReceiver == true
      model[path, default: [:]][note.target] = expected
      if let document { documents[path] = document }
      let target = TargetID(2 * random.below(3))
      #expect(
        pending.wasSent(path, for: target) == (model[path]?[target]?.isReceiver == true),
        "seed \(seed), step \(step)")
    }
    let all = pending.takeAll()
    #expect(all.map(\.path) == model.keys.sorted(), "seed \(seed)")
    #expect(all.map(\.document) == model.keys.sorted().map { documents[$0] }, "seed \(seed)")
    for entry in all {
      var notes: [TargetID: PendingWatchDocuments.Note] = [:]
      entry.forEach { notes[$0.target] = $0 }
      #expect(
        notes.mapValues(Noted.init) == model[entry.path]?.mapValues(Noted.init), "seed \(seed)")
    }
    #expect(pending.takeAll().isEmpty)
  }

  /// A note that can be compared.
  private struct Noted: Equatable {
    let state: Int
    let change: TargetState.Change?
    let isReceiver: Bool

    init(_ note: PendingWatchDocuments.Note) {
      (state, change, isReceiver) = (note.state, note.change, note.isReceiver)
    }
  }

  @Test(arguments: Seeded.seeds(40))
  func `is the same when documents are told together`(seed: UInt64) throws {
    var random = Seeded(seed)
    let matched: [TargetID: MatchedPaths] = [
      2: MatchedPaths(F.paths("c/d1", "c/d2")), 4: [F.path("c/d2")],
    ]
    func opened() throws -> WatchMachine {
      var machine = WatchMachine(F.database)
      _ = machine.listen(WatchTarget(2, try F.query().target)) { matched[$0] ?? [] }
      _ = machine.listen(WatchTarget(4, try F.query(first: 9).target)) { matched[$0] ?? [] }
      _ = machine.streamOpened { matched[$0] ?? [] }
      for id: TargetID in [2, 4] {
        _ = machine.received(.targets(.added, [id])) { matched[$0] ?? [] }
      }
      return machine
    }
    var (single, together) = (try opened(), try opened())
    for moment: Int64 in 1...6 {
      var changes: [WatchChange] = []
      for _ in 0..<random.below(12) {
        let id = "d\(random.below(8))"
        let targets: [[TargetID]] = [[2], [4], [2, 4], [6], []]
        let (matching, leaving) = (random.pick(targets), random.pick(targets))
        switch random.below(4) {
        case 0: changes.append(.left(F.path("c/\(id)"), leaving))
        case 1: changes.append(.document(F.missing(id), leaving: leaving))
        default:
          changes.append(
            .document(
              F.document(id, moment, version: moment), matching: matching,
              leaving: leaving.filter { !matching.contains($0) }))
        }
      }
      for change in changes { _ = single.received(change) { matched[$0] ?? [] } }
      _ = together.received(documents: changes) { matched[$0] ?? [] }
      let reset: [WatchChange] =
        random.chance(30) ? [.targets(.reset, [2])] : [.filter(4, count: 2)]
      for change in reset + [.targets(.current, [2, 4], resumeToken: [UInt8(moment)])] {
        let answers = (
          single.received(change) { matched[$0] ?? [] },
          together.received(change) { matched[$0] ?? [] }
        )
        #expect(answers.0 == answers.1, "seed \(seed), moment \(moment)")
      }
      let ends = (
        single.received(.targets(.noChange, []), version: F.time(moment)) { matched[$0] ?? [] },
        together.received(.targets(.noChange, []), version: F.time(moment)) { matched[$0] ?? [] }
      )
      #expect(ends.0 == ends.1, "seed \(seed), moment \(moment)")
      for case .event(let event) in ends.0 {
        single.stored(event)
        together.stored(event)
      }
    }
  }
}

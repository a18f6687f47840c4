import ArgumentParser
import ConiferStorage
import ConiferTree

/// Shows how much a path's data takes, why it is kept, and when it would be evicted.
struct ExplainCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Show how much a path's cached data takes, why it is kept, and when it would go.")

  @Argument(help: "The path; the root by default.")
  var path = "/"
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let places = opened.places
      let path = try places.path(path)
      let explanation = try opened.backend.evicting().explain(opened.tree, path)
      let document = try DocumentFacts(opened, path)
      guard store.json else {
        for line in Self.lines(explanation, places) { try console.print(line) }
        for line in document?.lines ?? [] { try console.print(line) }
        return
      }
      try console.print(Self.json(explanation, places, document).compact)
    }
  }

  /// The explanation for people.
  static func lines(
    _ explanation: SpaceExplanation, _ places: TreePlaces
  ) -> [String] {
    var table = Table()
    table.add("path", places.words(explanation.path))
    table.add("takes", Figures.bytes(explanation.bytes))
    table.add(places.leaves, Figures.count(explanation.leaves))
    for (name, bytes) in parts(explanation) where bytes > 0 {
      table.add("  \(name)", Figures.bytes(bytes))
    }
    if explanation.pendingWrites > 0 {
      table.add("queued writes", Figures.count(explanation.pendingWrites))
    }
    for reason in explanation.reasons { table.add("why", words(reason, places)) }
    table.add("goes", words(explanation.fate))
    return table.lines
  }

  private static func parts(_ explanation: SpaceExplanation) -> [(String, Int)] {
    [
      ("pinned", explanation.pinned), ("written", explanation.written),
      ("active", explanation.active), ("tracked", explanation.tracked),
      ("uncovered", explanation.uncovered),
    ]
  }

  private static func words(
    _ reason: SpaceExplanation.Reason, _ places: TreePlaces
  ) -> String {
    func words(_ path: Path, _ parameters: String) -> String {
      "\(places.words(path)) (\(places.words(parameters: parameters)))"
    }
    switch reason {
    case .pinned(let pin): return "pinned at \(words(pin.path, pin.parameters))"
    case .written: return "writes wait for it"
    case .active(let stored):
      return "listened to at \(words(stored.query.path, stored.query.parameters))"
    case .tracked(let stored, let before):
      return "query at \(words(stored.query.path, stored.query.parameters)), "
        + "\(stored.query.isComplete ? "complete" : "incomplete"), "
        + "\(Figures.count(before)) used less recently"
    }
  }

  private static func words(_ fate: SpaceExplanation.Fate) -> String {
    switch fate {
    case .stays: "not while that lasts"
    case .first: "first: no query and no pin covers it"
    case .parts:
      "in parts, each as its own pins, waiting writes and queries say; what nothing covers goes first"
    case .absent: "nothing is cached here"
    case .afterQueries(0): "as the first query, after what no query covers"
    case .afterQueries(let count): "after \(Figures.count(count)) queries used less recently"
    case .never: "never: the store is an authority"
    }
  }

  private static func json(
    _ explanation: SpaceExplanation, _ places: TreePlaces, _ document: DocumentFacts?
  ) -> Report {
    var members: [(String, Report)] = [
      ("path", .string(places.words(explanation.path))), ("bytes", .integer(explanation.bytes)),
      (places.leaves, .integer(explanation.leaves)),
    ]
    members += parts(explanation).map { ($0, .integer($1)) }
    members.append(("pendingWrites", .integer(explanation.pendingWrites)))
    members.append(("reasons", .list(explanation.reasons.map { json($0, places) })))
    if let document { members.append(("document", document.report)) }
    switch explanation.fate {
    case .stays: members.append(("fate", .string("stays")))
    case .first: members.append(("fate", .string("first")))
    case .parts: members.append(("fate", .string("parts")))
    case .absent: members.append(("fate", .string("absent")))
    case .never: members.append(("fate", .string("never")))
    case .afterQueries(let count):
      members.append(("fate", .string("after-queries")))
      members.append(("before", .integer(count)))
    }
    return .object(members)
  }

  private static func json(_ reason: SpaceExplanation.Reason, _ places: TreePlaces) -> Report {
    func members(_ kind: String, _ path: Path, _ parameters: String) -> [(String, Report)] {
      [
        ("kind", .string(kind)), ("path", .string(places.words(path))),
        ("parameters", .string(places.words(parameters: parameters))),
      ]
    }
    switch reason {
    case .pinned(let pin): return .object(members("pinned", pin.path, pin.parameters))
    case .written: return .object([("kind", .string("written"))])
    case .active(let stored):
      return .object(members("active", stored.query.path, stored.query.parameters))
    case .tracked(let stored, let before):
      return .object(
        members("tracked", stored.query.path, stored.query.parameters)
          + [("complete", .bool(stored.query.isComplete)), ("before", .integer(before))])
    }
  }
}

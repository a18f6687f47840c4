import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Brings the cache of a store down to a size.
struct EvictCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "evict",
    abstract: "Evict cached data down to a size: what no query covers, then what was used least.",
    discussion: """
      Pinned data stays, and the queue is never touched. All trees of the store count. Without --to \
      the cache is brought under 90 % of the budget in the store's URL.
      """)

  @Option(help: "The target size of the cache: bytes, or with KB, MB, GB.")
  var to: String?
  @Flag(help: "Change nothing, and show what would be evicted.")
  var dryRun = false
  @OptionGroup var store: StoreOptions

  /// How many queries are named to people; JSON names all.
  private static let shown = 20

  func run(_ console: Console) async throws {
    let size = try target()
    try await store.inspecting(console) { backend in
      guard size != nil || backend.traits.budget != nil else {
        throw Failure.usage(
          "The store has no budget: say to what size with --to, or give its URL ?budget=10MB.")
      }
      let report = try await backend.evicting().evict(to: size, dryRun: dryRun)
      let names = Dictionary(
        uniqueKeysWithValues: try backend.inspect { try $0.trees() }.map { ($0.id, $0.name) })
      if store.json {
        try console.print(json(report, names).compact)
      } else {
        try show(report, names, console)
      }
    }
  }

  private func target() throws -> Int? {
    guard let to else { return nil }
    guard let bytes = StorageOptions.byteCount(to) else {
      throw Failure.usage("--to \(to) is no size: write bytes, or a number with KB, MB or GB.")
    }
    return bytes
  }

  private func show(
    _ report: EvictionReport, _ names: [TreeID: String], _ console: Console
  ) throws {
    var table = Table()
    table.add("cache before", Figures.bytes(report.before))
    table.add(dryRun ? "cache afterwards" : "cache now", Figures.bytes(report.after))
    table.add("freed of data that no query covers", Figures.bytes(report.uncovered))
    table.add(dryRun ? "queries that would go" : "queries that went", "\(report.queries.count)")
    for line in table.lines { try console.print(line) }
    for query in report.queries.prefix(Self.shown) {
      let name = names[query.tree] ?? "\(query.tree.rawValue)"
      try console.print(
        "  \(name) \(query.path) \(query.parameters): \(Figures.bytes(query.bytes))")
    }
    if report.queries.count > Self.shown {
      try console.print("  and \(report.queries.count - Self.shown) more; --json names them")
    }
    if !report.isMet {
      try console.print(
        "The rest stays: it is pinned, or it is what the store needs to know its trees.")
    }
  }

  private func json(_ report: EvictionReport, _ names: [TreeID: String]) -> Report {
    .object([
      ("before", .integer(report.before)), ("after", .integer(report.after)),
      ("target", .optional(report.target)), ("met", .bool(report.isMet)),
      ("uncovered", .integer(report.uncovered)), ("dryRun", .bool(report.isDryRun)),
      (
        "queries",
        .list(
          report.queries.map { query in
            .object([
              ("tree", .optional(names[query.tree])), ("path", .string(query.path.description)),
              ("parameters", .string(query.parameters)),
              ("lastUse", .integer(Int(clamping: query.lastUse))),
              ("bytes", .integer(query.bytes)),
            ])
          })
      ),
    ])
  }
}

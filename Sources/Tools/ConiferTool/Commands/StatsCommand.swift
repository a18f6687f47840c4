import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// Shows a store's sizes and guarantees.
struct StatsCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Tell bytes by kind, the compression ratio, the format and the durability.")

  @Flag(help: "Count the tree that --tree names alone; the whole store by default.")
  var treeOnly = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    if treeOnly {
      try await store.reading(console, .any) { try report($0.backend, $0.tree, console) }
    } else {
      try await store.inspecting(console) { try report($0, nil, console) }
    }
  }

  private func report(_ backend: any StorageBackend, _ tree: TreeID?, _ console: Console) throws {
    let (usage, incidents) = try backend.inspect { (try $0.usage(tree), try $0.incidentWords()) }
    let space = try (backend as? any EvictingBackend)?.space()
    let documents = try backend.inspect { try $0.trees() }
      .filter { $0.order == .documents && (tree == nil || $0.id == tree) }
      .map { try DocumentFigures(backend, $0) }
    let figures = StoreFigures(
      traits: backend.traits, size: try backend.size(), usage: usage, space: space,
      incidents: incidents, documents: documents)
    guard store.json else {
      for line in figures.table.lines { try console.print(line) }
      for tree in documents {
        for line in tree.lines { try console.print(line) }
      }
      for incident in incidents { try console.print("incident: \(incident)") }
      return
    }
    try console.print(figures.report.compact)
  }
}

/// The output of `stats`, for people and for programs.
private struct StoreFigures {
  let traits: BackendTraits
  let size: StoreSize
  let usage: StorageUsage
  /// The sizes of the whole store by use, if the backend reports them.
  let space: StorageSpace?
  let incidents: [String]
  /// What the trees of documents hold.
  let documents: [DocumentFigures]

  /// Bytes before compression for one byte after it, with the dictionaries; nil of an empty cache.
  var ratio: Double? {
    StorageUsage.Packed(raw: usage.rawLeafBytes, stored: usage.leafBytes + usage.dictionaries).ratio
  }

  /// The kinds of packed records, in words and as JSON names them.
  private var kinds: [(words: String, name: String, packed: StorageUsage.Packed)] {
    [
      ("runs", "runs", usage.runs), ("deltas", "deltas", usage.deltas),
      ("large leaves", "largeLeaves", usage.largeLeaves),
    ]
  }

  private var budget: String { traits.budget.map(Figures.bytes) ?? "unlimited" }

  var table: Table {
    var table = Table()
    table.add("backend", traits.name)
    table.add("role", traits.role.rawValue)
    table.add("format", String(traits.format))
    table.add("durability", "\(traits.durability), at most \(traits.store.strongest)")
    table.add("budget", budget)
    table.add("leaves", Figures.count(usage.leaves))
    table.add("cache", Figures.bytes(usage.leafBytes))
    table.add(
      "compression",
      ratio.map { "\(traits.compression), \(Figures.fixed($0, 2)) to 1" }
        ?? "\(traits.compression)")
    for (words, _, packed) in kinds {
      let ratio = packed.ratio.map { ", \(Figures.fixed($0, 2)) to 1" } ?? ""
      table.add("- \(words)", Figures.bytes(packed.stored) + ratio)
    }
    let count = usage.dictionaryCount
    let used = count > 0 ? " in \(count), for runs and deltas" : ""
    table.add("dictionaries", Figures.bytes(usage.dictionaries) + used)
    table.add("queue", Figures.bytes(usage.queue))
    table.add("tracked queries", Figures.bytes(usage.trackedQueries))
    table.add("pins", Figures.bytes(usage.pins))
    table.add("indexes", Figures.bytes(usage.indexes))
    table.add("other", Figures.bytes(usage.other))
    table.add("records", Figures.bytes(usage.total))
    table.add(
      "files",
      "\(Figures.bytes(size.file)): \(Figures.bytes(size.live)) live, \(Figures.bytes(size.free)) free"
    )
    if let space {
      let over = space.isOverBudget ? ", over the budget" : ""
      table.add(
        "on disk",
        "cache \(Figures.bytes(space.cache))\(over), of it pinned \(Figures.bytes(space.pinned)); "
          + "queue \(Figures.bytes(space.queue)); other \(Figures.bytes(space.other))")
    }
    if usage.leaves > 0 {
      table.add(
        "bytes a leaf", Figures.fixed(Double(usage.leafBytes) / Double(usage.leaves), 1))
    }
    table.add("incidents", String(incidents.count))
    return table
  }

  private func report(of packed: StorageUsage.Packed) -> Report {
    .object([
      ("bytes", .integer(packed.stored)), ("raw", .integer(packed.raw)),
      ("ratio", packed.ratio.map { .number($0) } ?? .null),
    ])
  }

  var report: Report {
    .object([
      ("backend", .string(traits.name)), ("role", .string(traits.role.rawValue)),
      ("format", .integer(traits.format)), ("durability", .string("\(traits.durability)")),
      ("strongest", .string("\(traits.store.strongest)")), ("budget", .optional(traits.budget)),
      ("compression", .string("\(traits.compression)")),
      ("ratio", ratio.map { .number($0) } ?? .null), ("leaves", .integer(usage.leaves)),
      (
        "bytes",
        .object([
          ("cache", .integer(usage.leafBytes)), ("rawCache", .integer(usage.rawLeafBytes)),
          ("dictionaries", .integer(usage.dictionaries)),
          ("queue", .integer(usage.queue)), ("trackedQueries", .integer(usage.trackedQueries)),
          ("pins", .integer(usage.pins)), ("indexes", .integer(usage.indexes)),
          ("other", .integer(usage.other)), ("total", .integer(usage.total)),
        ])
      ),
      ("kinds", .object(kinds.map { ($0.name, report(of: $0.packed)) })),
      ("dictionaries", .integer(usage.dictionaryCount)),
      (
        "files",
        .object([
          ("live", .integer(size.live)), ("free", .integer(size.free)),
          ("file", .integer(size.file)),
        ])
      ),
      ("space", space.map(Self.report) ?? .null),
      ("incidents", .list(incidents.map { .string($0) })),
      ("documents", .list(documents.map(\.report))),
    ])
  }

  private static func report(_ space: StorageSpace) -> Report {
    .object([
      ("cache", .integer(space.cache)), ("pinned", .integer(space.pinned)),
      ("queue", .integer(space.queue)), ("other", .integer(space.other)),
      ("overBudget", .bool(space.isOverBudget)),
    ])
  }
}

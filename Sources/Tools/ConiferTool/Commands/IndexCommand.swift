import ArgumentParser
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree

/// Shows the declared indexes of a tree, or declares others.
struct IndexCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Show the indexes of a tree, or declare them and build them.",
    discussion: """
      --rules takes the .indexOn entries of database rules in place of what is declared; --path with \
      --on adds one index for each name. A segment such as $room stands for any key.
      """)

  @Option(help: "A file of database rules; - reads standard input.")
  var rules: String?
  @Option(help: "The nodes whose children are sorted, such as 'rooms/$room/messages'.")
  var path: String?
  @Option(help: "What children are sorted by: a path below each, .value or .priority. May repeat.")
  var on: [String] = []
  @Flag(help: "Declare no index any more.")
  var none = false
  @OptionGroup var store: StoreOptions

  func validate() throws {
    guard (rules == nil ? 0 : 1) + (path == nil ? 0 : 1) + (none ? 1 : 0) <= 1 else {
      throw ValidationError("Give one of --rules, --path and --none.")
    }
    guard (path == nil) == on.isEmpty else {
      throw ValidationError("--path names where, and --on by what: give both.")
    }
  }

  func run(_ console: Console) async throws {
    try await store.reading(console) { opened in
      if let definitions = try definitions(opened) {
        try await opened.backend.commit([.setIndexes(opened.tree, definitions)])
        while try await opened.backend.tidy(.milliseconds(100)) {}
      }
      let list = try opened.backend.inspect { try $0.indexes(opened.tree) }
      for line in store.json ? [Self.json(list).compact] : Self.lines(list) {
        try console.print(line)
      }
    }
  }

  /// The indexes to declare; nil when there are none.
  private func definitions(_ opened: TreeStore) throws -> [IndexDefinition]? {
    if none { return [] }
    if let rules { return try Self.indexes(of: Input.file(rules, atMost: 1 << 20)) }
    guard let path else { return nil }
    let known = try opened.backend.inspect { try $0.indexes(opened.tree) }.map(\.definition)
    return try known + on.map { try IndexDefinition(Path(path), by: Self.index($0)) }
  }

  /// The indexes that a file of database rules declares.
  private static func indexes(of file: [UInt8]) throws -> [IndexDefinition] {
    do throws(RulesError) {
      return try SecurityRules(json: file).indexes
    } catch {
      throw Failure(
        "bad-rules", .usage,
        "In the database rules, line \(error.line), column \(error.column): \(error.message)")
    }
  }

  private static func index(_ name: String) -> QueryIndex {
    switch name {
    case ".value": .value
    case ".priority": .priority
    case ".key": .key
    default: .child(Path(name))
    }
  }

  private static func lines(_ list: [IndexStatus]) -> [String] {
    guard !list.isEmpty else { return ["no index is declared"] }
    var table = Table(["path", "on", "state", "entries", "bytes"])
    for status in list {
      table.add(
        status.definition.pattern.description, on(status.definition), words(status.state),
        Figures.count(status.entries), Figures.bytes(status.bytes))
    }
    return table.lines
  }

  private static func on(_ definition: IndexDefinition) -> String {
    definition.components.map { $0.isDescending ? "\($0.by) descending" : "\($0.by)" }
      .joined(separator: ", ")
  }

  private static func words(_ state: IndexStatus.State) -> String {
    switch state {
    case .ready: "ready"
    case .building(let part): "building, \(Int(part * 100)) %"
    }
  }

  private static func json(_ list: [IndexStatus]) -> Report {
    .list(
      list.map { status in
        .object([
          ("path", .string(status.definition.pattern.description)),
          ("on", .string(on(status.definition))), ("ready", .bool(status.state == .ready)),
          ("entries", .integer(status.entries)), ("bytes", .integer(status.bytes)),
        ])
      })
  }
}

import ArgumentParser
import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// Shows the declared indexes of a tree of documents, or declares others.
struct DocIndexesCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "indexes", abstract: "Show the indexes of documents, or declare and build them.",
    discussion: """
      --set takes a firestore.indexes.json, as the vendor's tool exports it, in place of what is declared. Indexes are \
      built between an app's commits; --build waits until they are.
      """)

  @Option(
    help: "A file of indexes to declare; - reads standard input.",
    completion: .file(extensions: ["json"]))
  var set: String?
  @Flag(help: "Wait until all indexes are built.")
  var build = false
  @OptionGroup var documents: DocumentOptions

  func run(_ console: Console) async throws {
    let wanted = try set.map { try Self.indexes(of: $0) }
    try await documents.reading(console) { opened in
      if let wanted {
        try await opened.backend.commit([.documents(opened.tree, [.setIndexes(wanted)])])
      }
      if build { while try await opened.backend.tidy(.milliseconds(100)) {} }
      let list = try opened.backend.inspectDocuments { try $0.documentIndexes(opened.tree) }
      for line in documents.store.json ? [Self.json(list).compact] : Self.lines(list) {
        try console.print(line)
      }
    }
  }

  /// The indexes of a file.
  private static func indexes(of file: String) throws -> [DocumentIndex] {
    let text = String(decoding: try Input.file(file, atMost: 1 << 20), as: UTF8.self)
    do throws(StoreError) {
      return try IndexConfiguration(json: text).indexes
    } catch {
      throw Failure("bad-indexes", .badData, "\(file): \(Failure(error)?.message ?? error.message)")
    }
  }

  private static func lines(_ list: [DocumentIndexStatus]) -> [String] {
    guard !list.isEmpty else { return ["no index is declared"] }
    var table = Table(["collection", "scope", "fields", "state", "rows", "bytes"])
    for status in list {
      table.add(
        status.index.collectionID, scope(status.index), fields(status.index), state(status),
        Figures.count(status.entries), Figures.bytes(status.bytes))
    }
    return table.lines
  }

  private static func scope(_ index: DocumentIndex) -> String {
    index.scope == .collection ? "collection" : "group"
  }

  private static func fields(_ index: DocumentIndex) -> String {
    var names = index.fields.map { "\($0.path) \($0.kind)" }
    if index.statesNameDirection { names.append("__name__ \(index.nameDirection)") }
    return names.joined(separator: ", ")
  }

  private static func state(_ status: DocumentIndexStatus) -> String {
    switch status.state {
    case .ready: "ready"
    case .building(let part): "building, \(Int(part * 100)) %"
    }
  }

  private static func json(_ list: [DocumentIndexStatus]) -> Report {
    .list(
      list.map { status in
        .object([
          ("collection", .string(status.index.collectionID)),
          ("scope", .string(scope(status.index))), ("fields", .string(fields(status.index))),
          ("ready", .bool(status.state == .ready)), ("rows", .integer(status.entries)),
          ("bytes", .integer(status.bytes)),
        ])
      })
  }
}

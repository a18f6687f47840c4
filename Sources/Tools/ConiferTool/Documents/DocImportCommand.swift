import ArgumentParser
import ConiferDocument

/// Loads documents.
struct DocImportCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Load documents in the form of Firestore's REST API.",
    discussion: """
      The file is a JSON array of documents, or has one document a line. It is checked whole first; standard input is \
      stored as it comes, and what was stored before an error stays. A document replaces the one of its name, so an \
      import that was killed is run again.
      """)

  @Argument(help: "The file; - reads standard input.", completion: .file(extensions: ["json"]))
  var file: String
  @OptionGroup var documents: DocumentOptions

  func run(_ console: Console) async throws {
    let now = Timestamp.now
    let input = try DocumentFile(file)
    try await documents.editing(
      console, prepare: { try check(input, $0, now: now, console) }
    ) { opened, _ in
      let start = ContinuousClock.now
      var progress = Progress("loading ", total: input.size ?? 0, console)
      defer { progress.finish() }
      var importer = DocumentImporter(input.descriptor, opened.database, now: now)
      var stored = 0
      do {
        stored = try await importer.load(opened) { bytes, documents in
          stored = documents
          if input.size != nil { progress.advance(to: bytes) }
        }
      } catch {
        if stored > 0 {
          console.note("conifer: \(Figures.count(stored)) documents were stored before the error")
        }
        throw error
      }
      progress.finish()
      try report(stored, importer.bytesRead, start.duration(to: .now), console)
    }
  }

  /// Reads a file that can be read twice, and stores nothing.
  private func check(
    _ input: DocumentFile, _ database: DatabaseID, now: Timestamp, _ console: Console
  ) throws {
    guard let size = input.size else { return }
    var progress = Progress("checking", total: size, console)
    defer { progress.finish() }
    var checker = DocumentImporter(input.descriptor, database, now: now)
    try checker.check { progress.advance(to: $0) }
    try Platform.rewind(input.descriptor)
  }

  private func report(
    _ count: Int, _ bytes: Int, _ time: Duration, _ console: Console
  ) throws {
    let rate = Double(count) / max(Figures.seconds(time), 1e-9)
    guard documents.store.json else {
      return try console.print(
        "imported \(Figures.count(count)) documents (\(Figures.bytes(bytes))) in "
          + "\(Figures.time(time)), \(Figures.count(Int(rate))) documents a second")
    }
    try console.print(
      Report.object([
        ("documents", .integer(count)), ("bytes", .integer(bytes)),
        ("seconds", .number(Figures.seconds(time))),
      ]).compact)
  }
}

/// What documents are read from: a file that can be read twice, or a stream.
private final class DocumentFile {
  let descriptor: Int32
  /// The bytes of a regular file; nil of a stream.
  let size: Int?

  init(_ name: String) throws(Failure) {
    descriptor = name == "-" ? Platform.standardInput : try Platform.openForReading(name)
    size = name == "-" ? nil : Platform.size(descriptor)
  }

  deinit { if descriptor != Platform.standardInput { Platform.closeFile(descriptor) } }
}

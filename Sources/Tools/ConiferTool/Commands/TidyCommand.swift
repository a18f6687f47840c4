import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// Does all the housekeeping that an idle app would do.
struct TidyCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "tidy",
    abstract: "Fold small changes, train and use dictionaries, and give space back.",
    discussion: """
      Unless the URL says role=cache, nothing is dropped: a store that is damaged stays as it is, and the command \
      fails.
      """)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.tidying(console) { backend in
      let before = try Self.figures(backend)
      while try await backend.tidy(.milliseconds(100)) {}
      let after = try Self.figures(backend)
      guard !store.json else {
        return try console.print(
          Report.object([("before", before.report), ("after", after.report)]).compact)
      }
      var table = Table(["", "before", "after"])
      table.add("records", Figures.bytes(before.records), Figures.bytes(after.records))
      table.add("live", Figures.bytes(before.size.live), Figures.bytes(after.size.live))
      table.add("files", Figures.bytes(before.size.file), Figures.bytes(after.size.file))
      for line in table.lines { try console.print(line) }
    }
  }

  /// The sizes of a store at one time.
  private struct Sizes {
    let records: Int
    let size: StoreSize

    var report: Report {
      .object([
        ("records", .integer(records)), ("live", .integer(size.live)),
        ("free", .integer(size.free)), ("file", .integer(size.file)),
      ])
    }
  }

  private static func figures(_ backend: any StorageBackend) throws -> Sizes {
    let usage = try backend.inspect { try $0.usage(nil) }
    return Sizes(records: usage.total, size: try backend.size())
  }
}

extension StoreOptions {
  /// Opens a store for housekeeping. It may be a server's only copy: nothing of it may be dropped unless the URL calls it a
  /// cache.
  func tidying<R>(
    _ console: Console, _ body: (any StorageBackend) async throws -> R
  ) async throws -> R {
    do {
      return try await inspecting(console, role: .authority, body)
    } catch {
      guard let failure = Failure(error), failure.status == .damaged else { throw error }
      throw Failure(
        failure.code, failure.status,
        "\(failure.message) Housekeeping has dropped nothing: if the store is an app's cache, open it in the app or add "
          + "role=cache to its URL, and what is damaged is dropped or set aside; conifer doctor tells what helps otherwise."
      )
    }
  }
}

import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// Makes a store's files as small as its backend can.
struct CompactCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Tidy to the end, give space back, and say why when that leaves large files.")

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let before = try await size(console)
    try await store.tidying(console) { backend in
      defer { console.redraw?("") }
      repeat {
        console.redraw?("tidying, files of \(Figures.bytes(try backend.size().file))")
      } while try await backend.tidy(.milliseconds(100))
    }
    // Closing cuts what was allocated ahead.
    let after = try await size(console)
    let why = Self.reason(after, try store.configuration(console).name)
    guard !store.json else {
      return try console.print(
        Report.object([
          ("before", Self.report(before)), ("after", Self.report(after)), ("why", .optional(why)),
        ]).compact)
    }
    var table = Table(["", "before", "after"])
    table.add("live", Figures.bytes(before.live), Figures.bytes(after.live))
    table.add("free", Figures.bytes(before.free), Figures.bytes(after.free))
    table.add("files", Figures.bytes(before.file), Figures.bytes(after.file))
    for line in table.lines { try console.print(line) }
    if let why { try console.print(why) }
  }

  private func size(_ console: Console) async throws -> StoreSize {
    try await store.tidying(console) { try $0.size() }
  }

  private static func report(_ size: StoreSize) -> Report {
    .object([
      ("live", .integer(size.live)), ("free", .integer(size.free)), ("file", .integer(size.file)),
    ])
  }

  /// Why files are larger than one and a half times what lives in them; nil when they are not.
  static func reason(_ size: StoreSize, _ backend: String) -> String? {
    guard size.file > size.live / 2 * 3 else { return nil }
    let over = "The files take more than 1.5 times what is live: "
    switch backend {
    case "lmdb":
      return over
        + "LMDB never shortens its file, and fills the free pages with later data. conifer migrate "
        + "into a new store makes a small one."
    case "log":
      return over
        + "a log keeps up to 8 MB of dead bytes, a reserve for a full disk, and a segment that "
        + "commits are appended to."
    default:
      return over + "a store this small has more of its own than of data."
    }
  }
}

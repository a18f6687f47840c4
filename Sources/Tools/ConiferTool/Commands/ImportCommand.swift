import ArgumentParser
import ConiferStorage
import ConiferTree

/// Loads a JSON file.
struct ImportCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Check a JSON file whole, then load it, replacing what is at the path.",
    discussion: """
      A killed import leaves a prefix of the file that is marked incomplete. A finished one \
      records a complete tracked query for each child of the path. Without --tree, data that is at the \
      path already is replaced only with --replace.
      """)

  @Argument(
    help: "The JSON file, in export form or plain.", completion: .file(extensions: ["json"]))
  var file: String
  @Option(help: "The path that gets the file's value.")
  var path = "/"
  @Flag(help: "Replace the children that the file names, and leave the others.")
  var merge = false
  @Flag(help: "Replace the data at the path, also in a tree that --tree does not name.")
  var replace = false
  @OptionGroup var store: StoreOptions

  func validate() throws {
    guard !(merge && replace) else {
      throw ValidationError(
        "--merge leaves what the file does not name, and --replace removes it: give one.")
    }
  }

  func run(_ console: Console) async throws {
    let target = try Input.path(path)
    try target.validate(writing: .empty)
    guard target.last?.isPriority != true else {
      throw Failure.usage("A priority is set with: conifer set \(target) JSON.")
    }
    let file = try ImportFile(file)
    let importer = Importer(file: file, target: target, merges: merge)
    var progress = Progress("checking", total: file.size, console)
    defer { progress.finish() }
    let replaced = try importer.check { progress.advance(to: $0) }
    try await store.editing(console) { opened in
      try allowReplacing(opened, target)
      let start = ContinuousClock.now
      progress = Progress("loading ", total: file.size, console)
      let summary = try await importer.load(opened, replacing: replaced) {
        progress.advance(to: $0)
      }
      progress.finish()
      try report(summary, file.size, start.duration(to: .now), console)
    }
  }

  /// Refuses to replace data of a tree that nobody has named.
  private func allowReplacing(_ opened: TreeStore, _ target: Path) throws {
    guard store.tree == nil, !merge, !replace else { return }
    let (hasData, isCutShort) = try opened.backend.inspect { view in
      (
        try view.hasData(opened.tree, at: target),
        try Completeness.isMarked(view, opened.tree, target)
      )
    }
    guard hasData else { return }
    let why =
      isCutShort
      ? "An import into it was cut short, and has left a part of its file: to import again, add --replace, or --merge "
        + "if it was given then."
      : "Add --replace to do that, --merge to keep the children that the file does not name, or name another --path "
        + "or --tree."
    throw Failure(
      "would-replace", .usage,
      "The tree \"\(opened.name)\" has data at \(target), which this import would replace. \(why) Nothing was changed."
    )
  }

  private func report(
    _ summary: Importer.Summary, _ bytes: Int, _ time: Duration, _ console: Console
  ) throws {
    let rate = Double(summary.leaves) / max(Figures.seconds(time), 1e-9)
    guard store.json else {
      return try console.print(
        "imported \(Figures.count(summary.leaves)) leaves (\(Figures.bytes(bytes))) under \(path) "
          + "in \(Figures.time(time)), \(Figures.count(Int(rate))) leaves a second")
    }
    try console.print(
      Report.object([
        ("leaves", .integer(summary.leaves)), ("children", .integer(summary.children)),
        ("bytes", .integer(bytes)), ("seconds", .number(Figures.seconds(time))),
      ]).compact)
  }
}

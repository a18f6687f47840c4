import ArgumentParser
import ConiferStorage
import ConiferTree

/// Saves what can be read of a damaged store.
struct SalvageCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Save what can be read of a damaged store into a new one, queues first.",
    discussion: """
      The source is only read, without opening it as a store, in a process of its own. Damaged \
      records are set aside in the new store with their bytes (conifer stats lists them), and queries \
      count as complete only where nothing can be missing. Ends with 0 when all came over, and with \
      76 when something was lost; the new store is there in both cases.
      """)

  @Argument(help: "The damaged store's URL.")
  var from: String
  @Argument(help: "The new store's URL, in a directory that is not there yet.")
  var to: String
  @Option(help: "The file with the source's key, if it is encrypted.", completion: .file())
  var fromKeyFile: String?
  @Option(help: "The file with the new store's key, if it is to be encrypted.", completion: .file())
  var toKeyFile: String?
  @Flag(help: "Print JSON, for programs.")
  var json = false

  func run(_ console: Console) async throws {
    for file in [fromKeyFile, toKeyFile] { try KeyFile.requireRereadable(file) }
    let source = try StoreAddress(from, keyFile: fromKeyFile, console)
    let target = try StoreAddress(to, keyFile: toKeyFile, console)
    try source.mustBePresent()
    // A salvage that was killed at its very end leaves an empty one.
    guard Platform.isMissing(target.directory) || Directory.isEmpty(target.directory) else {
      throw Failure(
        "not-empty", .foreign,
        "\(target.directory) is there already: salvage into a new directory.")
    }
    let keys =
      (fromKeyFile.map { ["--from-key-file", $0] } ?? [])
      + (toKeyFile.map { ["--to-key-file", $0] } ?? [])
    var bar: (phase: String, progress: Progress)?
    let end = try Worker.run(["salvage-worker", from, to] + keys) { told in
      guard let phase = told.member("phase").text, let expected = told.member("expected").count
      else { return }
      if bar?.phase != phase { bar = (phase, Progress(phase, total: expected, console)) }
      bar?.progress.advance(to: told.member("bytes").count ?? 0)
    }
    bar?.progress.finish()
    bar = nil
    switch end {
    case .result(let report): try tell(report, console)
    case .failure(let failure): throw failure
    case .stopped(let how):
      (try? SalvageDirectory(Salvage.directory(target)))?.remove()
      throw Failure(
        "stopped", .io,
        "The process that reads the store was killed (\(how)), by somebody or since memory ran out; nothing was saved. "
          + "Salvage again.")
    case .died(let how):
      (try? SalvageDirectory(Salvage.directory(target)))?.remove()
      throw Failure(
        "damaged", .damaged,
        "Reading the store brought its engine down (\(how)); nothing was saved.")
    }
  }

  private func tell(_ report: Node, _ console: Console) throws {
    let isWhole = report.member("whole").leaf == .bool(true)
    if json {
      try console.print(Report.node(report).compact)
    } else {
      for line in Self.lines(report) { try console.print(line) }
    }
    guard isWhole else {
      throw Failure(
        "damaged", .damaged,
        "Something was lost or set aside; the new store is at \(to) with all that could be read.")
    }
  }

  private static func lines(_ report: Node) -> [String] {
    var lines: [String] = []
    for (_, tree) in report.member("trees").children.map({ ($0.key, $0.node) }) {
      let what = tree.member("order").text == "\(KeyOrder.documents)" ? "documents" : "leaves"
      lines.append(
        "tree \(tree.member("name").text ?? ""): \(Figures.count(tree.member("leaves").count ?? 0)) \(what), "
          + "\(tree.member("complete").count ?? 0) complete and \(tree.member("incomplete").count ?? 0) incomplete "
          + "queries, \(tree.member("pins").count ?? 0) pins")
      for child in tree.member("lanes").children {
        let lane = child.node
        lines.append(
          "  queue of \"\(lane.member("identity").text ?? "")\": \(lane.member("waiting").count ?? 0) waiting, "
            + "\(lane.member("rejected").count ?? 0) rejected writes")
      }
    }
    for child in report.member("setAside").children {
      let incident = child.node
      lines.append(
        "\(incident.member("kind").text ?? ""): \(incident.member("tree").text.map { "tree \($0), " } ?? "")"
          + "\(incident.member("place").text ?? ""), \(incident.member("bytes").count ?? 0) bytes kept"
      )
    }
    for child in report.member("lost").children {
      lines.append(
        "lost: \(child.node.member("file").text ?? "") at byte \(child.node.member("offset").count ?? 0): "
          + (child.node.member("words").text ?? ""))
    }
    for child in report.member("locked").children {
      lines.append("not saved: \(child.node.member("text").text ?? "")")
    }
    for child in report.member("mended").children {
      lines.append("mended: \(child.node.text ?? "")")
    }
    return lines + [
      report.member("whole").leaf == .bool(true) ? "everything was saved" : "saved in part"
    ]
  }
}
